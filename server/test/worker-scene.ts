// A worker on the memory store, for tests of how it runs and records executions: the answers of the store can get lost,
// executors end when a test says so, and emitted events are collected.
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { ShellExecution } from '../src/domain/executors/shell.ts'
import type { Execution } from '../src/domain/jobs/job.ts'
import type { CallContext, ExecutorResult, LocalCall } from '../src/ports/executor.ts'
import type { NewJob } from '../src/ports/jobs.ts'
import type { FinishAnswer, Queue } from '../src/ports/queue.ts'
import { type AttemptFinished, attemptFinished, attemptRefused } from '../src/telemetry/events.ts'
import { Worker, type WorkerDeps, type WorkerOptions } from '../src/worker/worker.ts'
import { openMemoryStore } from '../testing/memory-store/open-memory-store.ts'
import { createScenario } from './conformance/scenario.ts'
import { createVirtualWorld, type ScriptedAnswer } from './virtual-world.ts'

export const accepted = { status: 202, headers: { 'x-carillon-async': 'true' } } as const
export const shell: ShellExecution = {
  ...{ type: 'shell', command: '/bin/true', args: [], env: {}, timeout_seconds: 30 },
}

const writesMax = 50

/** A call of a local executor; it ends when a test says so. */
export interface LocalRun {
  call: LocalCall
  context: CallContext
  end: (result?: Partial<ExecutorResult>) => void
}

export async function setupWorker(t: TestContext) {
  const world = createVirtualWorld()
  const { store, ...ports } = openMemoryStore(world.clock)
  const now = async () => world.clock.databaseNow()
  const scenario = await createScenario({ ...ports, ids: world.ids, now })
  /** This many answers to finishing writes are lost, after their commit. */
  const lost = { answers: 0 }
  async function write(answer: Promise<FinishAnswer>): Promise<FinishAnswer> {
    const written = await answer
    if (lost.answers > 0) {
      lost.answers -= 1
      throw new Error('the answer was lost')
    }
    return written
  }
  const real = ports.queue
  const queue: Queue = {
    waiting: (...args) => real.waiting(...args),
    claim: (...args) => real.claim(...args),
    definitions: (...args) => real.definitions(...args),
    findCancelled: (...args) => real.findCancelled(...args),
    findOwn: (...args) => real.findOwn(...args),
    releaseUnknown: (...args) => real.releaseUnknown(...args),
    finishBatches: (...args) => write(real.finishBatches(...args)),
    finishLive: (...args) => write(real.finishLive(...args)),
  }
  const finished: AttemptFinished[] = []
  const refused: string[] = []
  for (const subscription of [
    attemptFinished.subscribe((facts) => void finished.push(facts)),
    attemptRefused.subscribe(({ executionId }) => void refused.push(executionId)),
  ])
    t.after(() => subscription[Symbol.dispose]())
  const after: { retries: boolean; handedBack: boolean }[] = []
  const runs: LocalRun[] = []
  const executor = {
    run(call: LocalCall, context: CallContext): Promise<ExecutorResult> {
      return new Promise((resolve) => {
        runs.push({ call, context, end: (result) => resolve({ error: null, preview: null, ...result }) })
      })
    },
  }

  async function start(
    changes: Partial<WorkerDeps> = {},
    options: Partial<WorkerOptions> = {},
  ): Promise<Worker> {
    const { attempts, logs, secrets, leases, graphRuns, peers, tenants } = ports
    const worker = new Worker(
      {
        ...{ ...world, version: '1.2.3', publicUrl: () => null, queue, attempts, logs, secrets, leases },
        ...{
          graphRuns,
          peers,
          tenants,
          onEnded() {},
          onClaimed() {},
          onFinished: (one) => void after.push(one),
        },
        ...changes,
      },
      { labels: [], capacity: 80, outageMs: 300_000, ...options },
    )
    await worker.lease.beat()
    return worker
  }
  /** A worker that runs shell commands. */
  const startShell = (options: Partial<WorkerOptions> = {}) =>
    start({ executors: { shell: executor } }, { routes: ['shell'], ...options })

  /** A job at a host of its own. */
  function createCalled(answer: Partial<ScriptedAnswer>, changes: Partial<NewJob> = {}): Promise<NewJob> {
    const url = `https://host-${world.ids.next()}.example`
    world.http.answer(url, () => ({ status: 200, ...answer }))
    const http = { type: 'http', callback_url: `${url}/`, method: 'POST', headers: {} } as const
    return scenario.createJob({ execution: { ...http, timeout_seconds: 60 }, ...changes })
  }
  const createShell = (changes: Partial<Execution> = {}) =>
    scenario.createJob({ execution: { ...shell, ...changes } as Execution })

  /** Calls the steps of its loops until nothing is left to do now. */
  async function turn(worker: Worker): Promise<void> {
    while ((await worker.claim()) === 'more');
    await world.advance(0)
    await worker.expireBatches()
    let writes = 0
    for (let more = true; more; writes++) {
      assert(writes < writesMax, 'there is always more to write')
      more = await worker.finish().then(
        (one) => one === 'more',
        () => true,
      )
    }
    await ports.maintenance.wake(1_000)
  }
  /** Time goes on, and its loops with it. */
  async function pass(worker: Worker, ms: number): Promise<void> {
    const untilMs = world.clock.monotonicMs() + ms
    while (world.clock.monotonicMs() < untilMs) {
      await world.advance(Math.min(50, untilMs - world.clock.monotonicMs()))
      if (world.clock.monotonicMs() % 3_000 < 50) await worker.lease.beat()
      await turn(worker)
    }
  }
  const attemptsOf = (executionId: string) =>
    store.log.of(executionId).map(({ attempt, outcome }) => [attempt, outcome])
  return {
    ...scenario,
    ...{
      world,
      store,
      ports,
      lost,
      finished,
      refused,
      after,
      runs,
      start,
      startShell,
      createCalled,
      createShell,
    },
    ...{ turn, pass, attemptsOf },
    /** Executions with an emitted end, listed once for each time it was emitted. */
    finishedIds: () => finished.map(({ executionId }) => executionId).toSorted(),
  }
}
