// Conformance of the views of graphs and their runs.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import type { RunPage, RunQuery } from '../../../src/ports/graph-runs.ts'
import { edit } from '../jobs/changes.ts'
import type { StoreScenario } from '../stores.ts'
import { makeGraph } from './graph-scenario.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

const allRuns: RunQuery = {
  tenantId: defaultTenantId,
  status: null,
  jobId: null,
  from: null,
  to: null,
  before: null,
  limit: 50,
}

export function testRunLists(name: string, setup: Setup): void {
  testGraphOf(name, setup)
  testGet(name, setup)
  testList(name, setup)
  testBytes(name, setup)

  test(`${name}: runs are forgotten with the history of their tenant, and not before`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a')
    const [ended, open] = [await g.trigger('a'), await g.trigger('a')]
    await g.step()
    await g.finish(ended, 'a', 'failed')
    assert.equal(await s.runSteps.prune(10), 0)
    await s.ageHistory(364)
    assert.equal(await s.runSteps.prune(10), 0)
    await s.ageHistory(2)
    assert.equal(await s.runSteps.prune(10), 1)
    assert.equal(await s.graphRuns.get(defaultTenantId, ended), null)
    assert.equal((await g.get(open)).status, 'RUNNING')
  })

  test(`${name}: no more of them than is asked for`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a')
    for (let n = 0; n < 3; n++) {
      const runId = await g.trigger('a')
      await g.step()
      await g.finish(runId, 'a', 'failed')
    }
    await s.ageHistory(366)
    assert.deepEqual([await s.runSteps.prune(2), await s.runSteps.prune(2)], [2, 1])
  })
}

function testBytes(name: string, setup: Setup): void {
  test(`${name}: a page of runs ends early at its bytes, and the next goes on there`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a')
    const made: string[] = []
    for (let n = 0; n < 5; n++) {
      const runId = await g.trigger('a')
      await g.step()
      await g.finish(runId, 'a', 'failed')
      made.unshift(runId)
    }
    for (const jobId of [null, g.jobOf('b').jobId]) {
      const seen: string[] = []
      const counts: number[] = []
      let before: string | null = null
      do {
        const page: RunPage = await s.graphRuns.list({ ...allRuns, jobId, before, bytesMax: 4_000 })
        seen.push(...page.runs.map(({ runId }) => runId))
        counts.push(page.runs.length)
        before = page.next
      } while (before !== null)
      assert.deepEqual(seen, made)
      assert(counts.length > 1 && counts[0]! > 1, `${counts}`)
      const alone = await s.graphRuns.list({ ...allRuns, jobId, bytesMax: 1 })
      assert.deepEqual([alone.runs.length, alone.next], [1, made[0]])
    }
  })
}

function testGraphOf(name: string, setup: Setup): void {
  test(`${name}: the graph of a job is all that it is connected with`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a c>a:failure d>b,c:completion x y>x')
    const id = (one: string) => g.jobOf(one).jobId
    for (const one of ['a', 'b', 'd']) {
      const graph = await s.graphRuns.graphOf(defaultTenantId, id(one))
      assert.deepEqual(
        graph!.jobs.map((job) => [job.name, job.status, job.version]).toSorted(),
        ['a', 'b', 'c', 'd'].map((member) => [member, 'ACTIVE', 1]),
      )
      assert.deepEqual(
        new Set(graph!.edges.map(({ parentId, childId, on }) => `${parentId} ${childId} ${on}`)),
        new Set([
          `${id('a')} ${id('b')} success`,
          `${id('a')} ${id('c')} failure`,
          `${id('b')} ${id('d')} success`,
          `${id('c')} ${id('d')} completion`,
        ]),
      )
    }
  })

  test(`${name}: one that is connected with none is a graph of its own`, async (t) => {
    const s = await setup(t)
    const job = await s.createJob({ name: 'alone' })
    const graph = await s.graphRuns.graphOf(defaultTenantId, job.jobId)
    assert.deepEqual([graph!.jobs.map((one) => one.name), graph!.edges], [['alone'], []])
    assert.deepEqual(graph!.jobs[0]?.schedule, job.schedule)
    assert.equal(await s.graphRuns.graphOf(defaultTenantId, s.ids.next()), null)
    assert.equal(await s.graphRuns.graphOf(await s.addTenant(1), job.jobId), null)
  })
}

function testGet(name: string, setup: Setup): void {
  test(`${name}: a run shows its nodes with the states of their executions`, async (t) => {
    const s = await setup(t)
    const g = await makeGraph(s, 'a b>a c>a d>b')
    const runId = await g.trigger('a')
    await g.step()
    await g.finish(runId, 'a')
    await g.claim(runId, 'b')
    await g.end(runId, 'c', s.failedForNow())
    await g.edit('d', edit({ name: 'd2' }))
    const run = await g.get(runId)
    assert.deepEqual(
      run.plan.map(({ role }) => role),
      ['root', 'inner', 'inner', 'inner'],
    )
    const places = new Map(run.plan.map(({ jobId }, place) => [jobId, place]))
    const place = (one: string) => places.get(g.jobOf(one).jobId)!
    assert.deepEqual(
      new Set(run.edges.map(({ parent, child, on }) => `${parent} ${child} ${on}`)),
      new Set([
        `${place('a')} ${place('b')} success`,
        `${place('a')} ${place('c')} success`,
        `${place('b')} ${place('d')} success`,
      ]),
    )
    const ofNodes = await Promise.all(['a', 'b', 'c', 'd'].map((one) => g.node(runId, one)))
    assert.deepEqual(
      ofNodes.map(({ jobName, status, attempt }) => [jobName, status, attempt]),
      [
        ['a', 'SUCCEEDED', 1],
        ['b', 'RUNNING', 1],
        ['c', 'RETRYING', 1],
        ['d2', 'WAITING_DEPENDENCIES', 0],
      ],
    )
    const [a, b, c] = ofNodes
    assert.deepEqual(
      [a!.startedAt, a!.finishedAt, a!.durationMs, a!.error],
      [s.at(300), s.at(301), 1_000, null],
    )
    assert.deepEqual([b!.finishedAt, b!.error], [null, null])
    assert.deepEqual(c!.error, { type: 'HTTP_ERROR', message: 'the target answered 500' })
    assert.deepEqual(run.counts, { SUCCEEDED: 1, PENDING: 2, WAITING_DEPENDENCIES: 1 })
    assert.deepEqual(run.skips, {})
    assert.deepEqual(run.roots, [{ jobId: g.jobOf('a').jobId, name: 'a' }])
    assert.equal(await s.graphRuns.get(await s.addTenant(1), runId), null)
  })
}

function testList(name: string, setup: Setup): void {
  /** Three runs of a graph, oldest first, of which the first has failed, and one of another graph. */
  async function startRuns(s: StoreScenario) {
    const g = await makeGraph(s, 'a b>a x y>x')
    const runIds = [await g.fire('a', 0), await g.fire('a', 1), await g.fire('a', 2)]
    const other = await g.trigger('x')
    await g.step()
    await g.finish(runIds[0]!, 'a', 'failed')
    return { g, runIds, other }
  }

  test(`${name}: runs are listed newest first, page by page`, async (t) => {
    const s = await setup(t)
    const { runIds, other } = await startRuns(s)
    const newest = [other, ...runIds.toReversed()]
    const found: string[] = []
    let before: string | null = null
    for (let pages = 0; pages < 4; pages++) {
      const page = await s.graphRuns.list({ ...allRuns, before, limit: 1 })
      found.push(...page.runs.map((run) => run.runId))
      before = page.next
      assert.equal(before === null, pages === 3)
    }
    assert.deepEqual(found, newest)
    const { runs, next } = await s.graphRuns.list(allRuns)
    assert.equal(next, null)
    const failed = runs.at(-1)!
    assert.deepEqual(
      [failed.status, failed.kind, failed.slot, failed.counts, failed.nodes],
      ['FAILED', 'slot', s.at(0), { FAILED: 1, SKIPPED: 1 }, 2],
    )
    assert.deepEqual((await s.graphRuns.list({ ...allRuns, tenantId: await s.addTenant(1) })).runs, [])
  })

  test(`${name}: they are found by status, job and time`, async (t) => {
    const s = await setup(t)
    const { g, runIds, other } = await startRuns(s)
    const find = async (query: Partial<RunQuery>) => {
      const { runs, next } = await s.graphRuns.list({ ...allRuns, ...query })
      assert.equal(next, null)
      return runs.map((run) => run.runId)
    }
    assert.deepEqual(await find({ status: 'FAILED' }), [runIds[0]])
    assert.deepEqual(await find({ status: 'RUNNING' }), [other, runIds[2], runIds[1]])
    assert.deepEqual(await find({ status: 'SUCCEEDED' }), [])
    const { jobId } = g.jobOf('b')
    assert.deepEqual(await find({ jobId }), runIds.toReversed())
    assert.deepEqual(await find({ jobId, status: 'FAILED' }), [runIds[0]])
    assert.deepEqual(await find({ jobId, before: runIds[1]! }), [runIds[0]])
    assert.deepEqual(await find({ jobId: s.ids.next() }), [])
    assert.deepEqual(await find({ from: s.at(1), to: s.at(2) }), [runIds[1]])
    assert.deepEqual(await find({ jobId, from: s.at(1) }), [runIds[2], runIds[1]])
    assert.deepEqual(await find({ to: s.at(1) }), [runIds[0]])
    const page = await s.graphRuns.list({ ...allRuns, jobId, limit: 2 })
    assert.deepEqual(
      page.runs.map((run) => run.runId),
      [runIds[2], runIds[1]],
    )
    assert.equal(page.next, runIds[1])
  })
}
