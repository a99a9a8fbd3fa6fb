// The API on the memory store, with jobs that run after each other.
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { AttemptEnd } from '../src/domain/queue/attempt.ts'
import { sharedLane } from '../src/domain/queue/lane.ts'
import { serverRoute } from '../src/domain/queue/route.ts'
import { type Answer, runAll, setupApp, testWorker, testWorkerId } from './app.ts'

const execution = { callback_url: 'http://127.0.0.1:7420/echo' }

interface GraphJob {
  execution: object
  name: string
  schedule?: unknown
  depends_on?: { job_id: string; on?: string }[]
}

export async function setupGraphApp(t: TestContext) {
  const parts = await setupApp(t)
  const { call, memory, world } = parts
  /** Of the job with this name. */
  const ids = new Map<string, string>()
  const idOf = (name: string) => ids.get(name)!

  /** `b` or `b:failure`. */
  const toDependency = (text: string) => {
    const [name, on] = text.split(':')
    return { job_id: idOf(name!), ...(on !== undefined && { on }) }
  }

  const requestOf = (name: string, after: readonly string[], more: object = {}): GraphJob => ({
    name,
    execution,
    ...(after.length > 0 ? { depends_on: after.map(toDependency) } : { schedule: '@daily' }),
    ...more,
  })

  /** A job that runs after these, or, after none of them, daily. */
  async function make(name: string, after: readonly string[] = [], more: object = {}) {
    const answer = await call('POST', '/jobs', requestOf(name, after, more))
    assert.equal(answer.statusCode, 201, answer.body)
    ids.set(name, answer.json().job_id)
    return answer.json()
  }

  /** Of the root; the run is made. */
  async function trigger(name: string): Promise<{ runId: string; executionId: string }> {
    const answer = await call('POST', `/jobs/${idOf(name)}/trigger`)
    assert.equal(answer.statusCode, 202, answer.body)
    await step()
    return { runId: answer.json().graph_run_id, executionId: answer.json().execution_id }
  }

  /** Takes every run as far as it goes. */
  async function step(): Promise<void> {
    const tools = { newExecutionId: () => world.ids.nextBatch(), laneOf: () => sharedLane }
    for (let rounds = 0; rounds < 100; rounds++) {
      const noted = await memory.runSteps.findNoted(100, false)
      if (noted.length === 0) return
      await memory.runSteps.step(noted, tools)
    }
    throw new Error('the runs do not come to rest')
  }

  /** Runs every execution that can run now, and steps the runs afterwards. */
  async function run(change: Partial<AttemptEnd> = {}): Promise<void> {
    await runAll({ memory, world }, change)
    await step()
  }

  /** All that can run now, by a worker that says nothing more. */
  async function claim(): Promise<void> {
    await memory.leases.register(testWorker())
    const lanes = [{ lane: sharedLane, count: 1_000 }]
    const order = { workerId: testWorkerId, routes: [serverRoute], lanes, hosts: [], batchesMax: 100 }
    await memory.queue.claim(order)
  }

  const change = (name: string, patch: object): Promise<Answer & { json: () => unknown }> =>
    call('PATCH', `/jobs/${idOf(name)}`, patch, { 'if-match': '*' })

  /** The status of each job of a run. */
  async function statuses(runId: string): Promise<Record<string, string>> {
    const { nodes } = (await call('GET', `/graph-runs/${runId}`)).json() as {
      nodes: { job_name: string; status: string }[]
    }
    return Object.fromEntries(nodes.map(({ job_name, status }) => [job_name, status]))
  }

  return { ...parts, ids, idOf, requestOf, make, trigger, step, run, claim, change, statuses }
}

export const failure = {
  outcome: 'failed',
  httpStatus: 500,
  error: { type: 'HTTP_ERROR', message: 'Callback returned 500' },
  preview: 'no',
  deadReason: 'NOT_RETRYABLE',
} as const
