// Drives a run: creates the jobs of its workload and acts on them as users do, at the given rate and by the given seed.
// Never waits for an answer before it goes on; the number of concurrent calls is bounded. Every call is in the history.
import { join } from 'node:path'
import { realTimers } from '../../src/lib/time/timers.ts'
import { Dice } from '../fuzz/dice.ts'
import { Caller } from './driver-calls.ts'
import { Deeds } from './driver-deeds.ts'
import { type Ending, FILES, LineWriter } from './history.ts'
import { drawGraphs, drawJobs, drawOnce, type WorkloadOptions } from './workload.ts'

export interface DriverOptions {
  /** Of the run. */
  dir: string
  apiUrls: readonly string[]
  key: string
  receiverUrl: string
  seed: number
  /** Executions a second, about, of slots and deeds together. */
  ratePerSecond: number
  /** Whether there are calls that take half a minute. Default true. */
  longCalls?: boolean
}

export interface Driver {
  /** When its first jobs are there. */
  started: Promise<void>
  /** Does nothing new, learns how unsure changes went and pauses every job. To be called when all is well again. */
  stop(): Promise<void>
  /** Waits until nothing is under way any more; false: something still is after three minutes. */
  drained(): Promise<boolean>
  counts(): Record<Ending | 'jobs', number>
  /** Makes as many jobs that are all due in one second that is to come. */
  herd(count: number): Promise<void>
}

/** Share of the rate that is slots. */
const slotShare = 0.72
const inFlightMax = 64
const herdAtOnce = 16
const herdLeadMs = 8_000
const drainMsMax = 180_000
const drainEveryMs = 1_000
/**
 * In the order of asking. An execution may move on between two questions: RETRYING is first and last, as an execution
 * that begins or ends an attempt during the round would be missed by all other orders.
 */
const UNENDED = ['RETRYING', 'WAITING_DEPENDENCIES', 'PENDING', 'RUNNING', 'CANCELLING', 'RETRYING'] as const

export function startDriver(options: DriverOptions): Driver {
  const { dir, apiUrls, key, receiverUrl, seed, ratePerSecond, longCalls = true } = options
  const log = new LineWriter(join(dir, FILES.history))
  const caller = new Caller({ apiUrls, key, write: (line) => log.write(line) })
  const dice = new Dice(seed)
  const workload: WorkloadOptions = {
    apiUrls,
    receiverUrl,
    slotsPerSecond: ratePerSecond * slotShare,
    longCalls,
  }
  // Names are new with each driver: two of them may write to one database.
  const deeds = new Deeds({ caller, dice, workload, prefix: `chaos ${seed} ${Date.now().toString(36)}` })
  const stopping = new AbortController()
  const started = begin(dice, workload, deeds)
  const going = started.then(() => go(deeds, caller, ratePerSecond, stopping.signal))
  return {
    started,
    async stop() {
      stopping.abort()
      await going
      while (caller.inFlight > 0) await realTimers.wait(50)
      await deeds.settle()
    },
    drained: () => drain(caller),
    counts: () => ({ ...caller.endings, jobs: deeds.jobs.length }),
    herd: (count) => herd(dice, workload, deeds, count),
  }
}

async function begin(dice: Dice, workload: WorkloadOptions, deeds: Deeds): Promise<void> {
  const drafts = drawJobs(dice, workload)
  await inTurns(drafts.length, (place) => deeds.create(drafts[place]!))
  for (const graph of drawGraphs(dice, workload)) await deeds.createGraph(graph)
}

async function go(deeds: Deeds, caller: Caller, ratePerSecond: number, signal: AbortSignal): Promise<void> {
  // A deed is an execution more often than not.
  const everyMs = 1_000 / Math.max(1, ratePerSecond * (1 - slotShare))
  let next = performance.now()
  while (!signal.aborted) {
    if (caller.inFlight < inFlightMax) void deeds.doOne()
    next = Math.max(next + everyMs, performance.now() - 1_000)
    await realTimers.wait(Math.max(0, next - performance.now()), signal)
  }
}

async function herd(dice: Dice, workload: WorkloadOptions, deeds: Deeds, count: number): Promise<void> {
  const dueAt = Date.now() + herdLeadMs + count * 5
  const drafts = Array.from({ length: count }, () => drawOnce(dice, workload, dueAt))
  await inTurns(count, (place) => deeds.create(drafts[place]!))
}

/** A bounded number at once. */
async function inTurns(count: number, act: (place: number) => Promise<unknown>): Promise<void> {
  let next = 0
  const work = async () => {
    while (next < count) await act(next++)
  }
  await Promise.all(Array.from({ length: herdAtOnce }, work))
}

async function drain(caller: Caller): Promise<boolean> {
  for (let waitedMs = 0; waitedMs < drainMsMax; waitedMs += drainEveryMs) {
    if (await isIdle(caller)) return true
    await realTimers.wait(drainEveryMs)
  }
  return false
}

/** Whether no execution and no graph run is under way. */
export async function isIdle(caller: Caller): Promise<boolean> {
  for (const status of UNENDED) {
    const path = `/executions?status=${status}&limit=1`
    const { ending, body } = await caller.send({ name: 'list', method: 'GET', path })
    if (ending !== 'ok' || body.pagination?.total !== 0) return false
  }
  const runs = await caller.send({ name: 'list', method: 'GET', path: '/graph-runs?status=RUNNING&limit=1' })
  return runs.ending === 'ok' && runs.body.graph_runs?.length === 0
}
