// The data that `carillon top` has collected while it runs. Bounded: it may run for days.
import type { Failing, Pulse, Seen, TopEvent } from './top-source.ts'

export interface TopState {
  source: 'stream' | 'poll' | 'lost' | 'none'
  /** Oldest first. */
  pulses: Pulse[]
  running: Map<string, Seen>
  /** Newest first. */
  ended: Seen[]
  /** As we saw it. */
  failing: Map<string, Failing>
  /** As the server tells it; null: it does not. */
  failures: Failing[] | null
  workers: { count: number; load: number; capacity: number } | null
  deadLetters: { count: number; capped: boolean } | null
}

const pulsesMax = 120
const runningMax = 1_000
const endedMax = 50
const failingMax = 200
/** Failures count for so long. */
const failingMs = 3_600_000

export function createTopState(): TopState {
  return {
    source: 'none',
    pulses: [],
    running: new Map(),
    ended: [],
    failing: new Map(),
    failures: null,
    workers: null,
    deadLetters: null,
  }
}

export function take(state: TopState, event: TopEvent): void {
  if (event.kind === 'source') state.source = event.source
  else if (event.kind === 'pulse') {
    state.pulses.push(event.pulse)
    state.pulses.splice(0, state.pulses.length - pulsesMax)
  } else for (const item of event.items) takeExecution(state, item)
}

function takeExecution(state: TopState, item: Seen): void {
  const { execution_id: id, status } = item
  state.running.delete(id)
  if (status === 'RUNNING' || status === 'CANCELLING') {
    if (state.running.size < runningMax) state.running.set(id, item)
    return
  }
  if (status === 'PENDING' || status === 'WAITING_DEPENDENCIES') return
  state.ended = [item, ...state.ended.filter((one) => one.execution_id !== id)].slice(0, endedMax)
  if (status === 'FAILED' || status === 'TIMED_OUT' || status === 'RETRYING') takeFailure(state, item)
}

function takeFailure({ failing }: TopState, item: Seen): void {
  const { job_id: jobId, job_name: jobName, finished_at: finishedAt } = item
  const type = item.error_type ?? item.status
  const key = `${jobId} ${type}`
  const count = (failing.get(key)?.count ?? 0) + 1
  const lastMs = finishedAt === null ? Date.now() : Date.parse(finishedAt)
  failing.delete(key)
  failing.set(key, { jobName, errorType: type, count, lastMs })
  for (const [one, { lastMs: last }] of failing) {
    if (failing.size > failingMax || Date.now() - last > failingMs) failing.delete(one)
  }
}

/** The rate per second over the latest pulses. */
export function rateOf(state: TopState, field: 'started' | 'succeeded' | 'failed', pulseCount = 10): number {
  const pulses = state.pulses.slice(-pulseCount)
  const seconds = pulses.reduce((sum, pulse) => sum + pulse.seconds, 0)
  return seconds === 0 ? 0 : pulses.reduce((sum, pulse) => sum + pulse[field], 0) / seconds
}
