import assert from 'node:assert/strict'
import test from 'node:test'
import { epochMs } from '../../lib/time/epoch.ts'
import type { Queries } from '../connection/database.ts'
import { GraphPlanCache } from './plan-cache.ts'
import type { PlanRow, RunRow } from './rows.ts'

const row: RunRow = {
  run_id: 'run',
  tenant_id: 'acme',
  kind: 'slot',
  slot: epochMs(1_000),
  status: 'RUNNING',
  cancel_message: null,
  states: 'ub',
  resumes: 0,
  created_at: epochMs(2_000),
  finished_at: null,
}

test('the graph of a run is read once, until the run is another', async () => {
  let child = 'first'
  let reads = 0
  const queries: Queries = {
    async query<R extends object>() {
      reads += 1
      const roots = { run_id: 'run', roles: 'ri', versions: [1, 1], execution_ids: [null, 'e'] }
      const plan: PlanRow = { ...roots, job_ids: ['root', child], edges: [[0, 1, 'success']] }
      return { rows: [plan as unknown as R], count: 1 }
    },
  }
  const graphs = new GraphPlanCache()
  const childOf = async (one: RunRow) => (await graphs.hold(queries, [one]))[0]!.graph.plan.nodes[1]!.jobId
  assert.equal(await childOf(row), 'first')
  child = 'second'
  assert.equal(await childOf({ ...row, status: 'CANCELLING' }), 'first')
  assert.equal(reads, 1)
  // A root has fired; the run was resumed; it was pruned, and made anew from the present graph.
  for (const change of [{ states: 'gb' }, { resumes: 1 }, { created_at: epochMs(3_000) }]) {
    assert.equal(await childOf({ ...row, ...change }), 'second', JSON.stringify(change))
  }
})
