// A test scene for one policy at a time: the real scheduler, releaser and worker over the memory store, on a virtual
// clock that starts at 09:59. The fate of a job is read back as lines, one for each execution and range of skips.
import assert from 'node:assert/strict'
import type { JobVersion } from '../../src/domain/jobs/job.ts'
import { compileSchedule } from '../../src/domain/schedule/compile-schedule.ts'
import { nextSlot } from '../../src/domain/schedule/next-run.ts'
import { defaultTenantId } from '../../src/domain/tenants/tenant.ts'
import type { LoopFailure } from '../../src/lib/loop.ts'
import { type EpochMs, epochMs, toRfc3339 } from '../../src/lib/time/epoch.ts'
import { Unavailable } from '../../src/lib/unavailable.ts'
import type { ExecutionSummary } from '../../src/ports/executions.ts'
import type { NewJob } from '../../src/ports/jobs.ts'
import type { SkipRange } from '../../src/ports/slot-ledger.ts'
import { openMemoryStore } from '../../testing/memory-store/open-memory-store.ts'
import { createScenario } from '../conformance/scenario.ts'
import { Gate } from '../simulation/gate.ts'
import { type Caller, wrapPorts } from '../simulation/ports.ts'
import { SimulatedServer } from '../simulation/server.ts'
import { createClockQueries } from '../simulation/server-clock.ts'
import { createVirtualWorld } from '../virtual-world.ts'

type Schedule = JobVersion['schedule']
export type Scene = Awaited<ReturnType<typeof openScene>>

const dayText = '2026-01-02T'
const startAt = Date.parse(`${dayText}09:59:00Z`)
/** Targets by how long they take: `https://takes-25s.test` answers after 25 seconds. */
const origin = (seconds: number) => `https://takes-${seconds}s.test`

export async function openScene() {
  let isAway = false
  const world = createVirtualWorld({ startAt })
  const { clock } = world
  const tables = openMemoryStore(clock)
  const scenario = await createScenario({ ...tables, ids: world.ids, now: async () => clock.databaseNow() })
  const call: Caller = async (_, method, args) => {
    if (isAway) throw new Unavailable('the store')
    return method(...args)
  }
  const ports = wrapPorts(tables, call)
  const failures: LoopFailure[] = []
  let gate = new Gate(world.timers)

  async function boot(): Promise<void> {
    gate = new Gate(world.timers)
    const onFailure = (failure: LoopFailure) => {
      if (!(failure.error instanceof Unavailable)) failures.push(failure)
    }
    const clockQueries = createClockQueries(world, call)
    const deps = { world, gate, ports, clockQueries, seed: 1, onSend() {}, onFailure, sendOn() {} }
    const host = { originMs: 0, rate: 1 }
    const roles = ['scheduler', 'worker'] as const
    await new SimulatedServer(deps, { roles, capacity: 100, pollFactor: 1, host }).start()
  }

  /** Moves on to a time of the day. */
  async function runTo(time: string): Promise<void> {
    const ms = epochMs(Date.parse(`${dayText}${time}Z`)) - clock.databaseNow()
    assert(ms >= 0, `${time} is past`)
    await world.advance(ms)
    for (const { loop, error } of failures) assert.fail(`${loop} failed: ${String(error)}`)
  }

  /** By default a job that takes no time and may not overlap. */
  async function createJob(schedule: Schedule, changes: Partial<NewJob> & { takesSeconds?: number } = {}) {
    const { takesSeconds = 0, ...rest } = changes
    const jobId = world.ids.next()
    const anchorAt = clock.databaseNow()
    const compiled = compileSchedule(schedule, { createdAt: anchorAt, jobId })
    assert(compiled.ok)
    world.http.answer(origin(takesSeconds), () => ({ status: 200, afterMs: takesSeconds * 1_000 }))
    const callback_url = `${origin(takesSeconds)}/run`
    return scenario.createJob({
      jobId,
      schedule,
      anchorAt,
      createdAt: anchorAt,
      // As the API does: the one slot of ONE_TIME may lie in the past.
      slotAt: nextSlot(compiled.value.compiled, schedule.type === 'ONE_TIME' ? epochMs(0) : anchorAt),
      execution: { type: 'http', callback_url, method: 'POST', headers: {}, timeout_seconds: 300 },
      ...rest,
    })
  }

  await boot()
  return {
    ...{ world, tables, clock, createJob, runTo, boot, jobs: tables.jobs },
    /** The server is gone, with all that it knew. */
    shut: () => gate.shut(),
    /** From now on the store throws, or does no longer. */
    setAway(away: boolean) {
      isAway = away
    },
    /** Of the database; the server finds out. */
    jumpClockTo(time: string) {
      world.stepDatabase(Date.parse(`${dayText}${time}Z`) - clock.databaseNow())
    },
    /** A time of the day, and seconds on from there. */
    at: (time: string, seconds = 0) => epochMs(Date.parse(`${dayText}${time}Z`) + seconds * 1_000),
    trigger: (job: NewJob) => scenario.trigger(job),
    statusOf: async ({ jobId }: NewJob) => (await tables.jobs.get(defaultTenantId, jobId))!.status,
    executionsOf: (job: NewJob) => executionsOf(tables, job),
    /** Each execution, in the order of their slots: when it was due, its status, and when it ran. */
    ranOf: async (job: NewJob) => (await executionsOf(tables, job)).map(lineOf),
    skipsOf: async (job: NewJob) => (await skipsOf(tables, job)).map(skipLineOf),
  }
}

async function executionsOf(
  { executions }: ReturnType<typeof openMemoryStore>,
  { jobId }: NewJob,
): Promise<ExecutionSummary[]> {
  const none = {
    status: null,
    kind: null,
    errorType: null,
    deadLetter: null,
    workerId: null,
    tag: null,
    q: null,
  }
  const all = { from: null, to: null, before: null, limit: 10_000 }
  const page = await executions.listExecutions({ tenantId: defaultTenantId, jobId, ...none, ...all })
  return page!.executions.toSorted((a, b) => a.slot - b.slot || (a.executionId < b.executionId ? -1 : 1))
}

async function skipsOf(
  { slotLedger }: ReturnType<typeof openMemoryStore>,
  { jobId }: NewJob,
): Promise<SkipRange[]> {
  const all = { from: epochMs(0), to: epochMs(Date.UTC(2100, 0)), limit: 1_000, order: 'asc' } as const
  return (await slotLedger.listSkips({ tenantId: defaultTenantId, jobId, ...all }))!
}

function lineOf({ kind, slot, status, startedAt, finishedAt }: ExecutionSummary): string {
  const what = kind === 'slot' ? '' : `${kind} `
  const ran =
    startedAt === null ? 'never' : `${timeOf(startedAt)} to ${finishedAt === null ? '' : timeOf(finishedAt)}`
  return `${what}${timeOf(slot)} ${status} ${ran}`
}

function skipLineOf({ from, to, count, reason }: SkipRange): string {
  return `${reason} ${count}: ${timeOf(from)} to ${timeOf(to)}`
}

/** Of the day of the scene; else with its day. */
export function timeOf(at: EpochMs): string {
  const text = toRfc3339(at)
  return text.startsWith(dayText) ? text.slice(dayText.length, -1) : text
}
