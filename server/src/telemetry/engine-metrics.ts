// The metrics of the engine: slots fired, how late, how executions ended. Fed by events, one observation per attempt.
import { Counter, Gauge, Histogram, type Registry } from '@prometheus-io/client'
import type { Outcome } from '../domain/queue/execution.ts'
import * as events from './events.ts'
import { type RecentCounts, RecentRatio, ratioOf } from './recent-ratio.ts'

const delayBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]
const durationBuckets = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 60, 300, 3_600]
const statuses: Record<Outcome, string> = {
  succeeded: 'SUCCEEDED',
  failed: 'FAILED',
  timed_out: 'TIMED_OUT',
  lost: 'FAILED',
  cancelled: 'CANCELLED',
  skipped: 'SKIPPED',
}

/** `nowMs`: a monotonic clock. `elsewhere`: recent counts of other processes. Returns the recent counts of this one. */
export function collectEngineMetrics(
  registry: Registry,
  subscriptions: DisposableStack,
  nowMs: () => number,
  elsewhere: () => readonly RecentCounts[] = () => [],
): RecentRatio {
  const registers = [registry]
  const counter = (name: string, help: string) => new Counter({ name: `carillon_${name}`, help, registers })
  const histogram = (name: string, help: string, buckets: number[]) =>
    new Histogram({ name: `carillon_${name}`, help, buckets, registers })

  const fired = counter('jobs_triggered_total', 'Slots that became an execution.')
  const repeated = counter('duplicates_refused_total', 'Fires of slots that were already recorded.')
  const tick = histogram(
    'trigger_tick_seconds',
    'Time to fire a group of slots that were due together.',
    delayBuckets,
  )
  subscriptions.use(
    events.slotsFired.subscribe(({ slots, unfired, taken, tookMs }) => {
      fired.inc(slots - unfired)
      repeated.inc(taken)
      tick.observe(tookMs / 1_000)
    }),
  )

  const delay = histogram(
    'trigger_delay_seconds',
    'Delay from the due or requested time to the start of the call.',
    delayBuckets,
  )
  const endToEnd = histogram(
    'end_to_end_seconds',
    'Time from the due or requested time to the end of the execution.',
    delayBuckets,
  )
  const duration = new Histogram({
    name: 'carillon_execution_duration_seconds',
    help: 'Duration of attempts.',
    labelNames: ['executor'],
    buckets: durationBuckets,
    registers,
  })
  const executions = new Counter({
    name: 'carillon_executions_total',
    help: 'Ended executions.',
    labelNames: ['status', 'kind'],
    registers,
  })
  const retries = counter('retries_total', 'Attempts that were followed by a retry.')
  const timeouts = counter('timeouts_total', 'Attempts that timed out.')
  const dead = counter('dead_letters_total', 'Executions that became dead letters.')
  const ratio = new RecentRatio(nowMs)
  new Gauge({
    name: 'carillon_success_ratio',
    help: 'Share of successes among executions that ended in the last five minutes and were neither cancelled nor skipped; absent if there were none.',
    registers,
    collect() {
      const value = ratioOf([ratio.counts(), ...elsewhere()])
      if (value === null) this.remove()
      else this.set(value)
    },
  })
  // Labels are few, and attempts are many: each set of labels is built once.
  const durationOf = remember((executor: string) => duration.labels(executor))
  const executionsOf = remember((status: string) =>
    remember((kind: string) => executions.labels(status, kind)),
  )
  subscriptions.use(
    events.attemptFinished.subscribe(
      ({ outcome, kind, executor, retryAt, deadReason, delayMs, durationMs, endToEndMs }) => {
        if (delayMs !== null) delay.observe(Math.max(0, delayMs) / 1_000)
        if (durationMs !== null) durationOf(executor).observe(durationMs / 1_000)
        if (outcome === 'timed_out') timeouts.inc()
        if (deadReason !== null) dead.inc()
        if (retryAt !== null) {
          retries.inc()
          return
        }
        executionsOf(statuses[outcome])(kind).inc()
        endToEnd.observe(Math.max(0, endToEndMs) / 1_000)
        // That somebody changed their mind, or that nothing ran, says nothing about how well things go.
        if (outcome !== 'cancelled' && outcome !== 'skipped') ratio.add(outcome === 'succeeded')
      },
    ),
  )

  const runs = new Counter({
    name: 'carillon_graph_runs_total',
    help: 'Ended graph runs.',
    labelNames: ['status'],
    registers,
  })
  subscriptions.use(events.graphRunFinished.subscribe(({ status }) => runs.inc({ status })))

  const cancelled = counter('cancellations_total', 'Executions cancelled while no worker ran them.')
  subscriptions.use(events.executionsCancelled.subscribe(({ executions: count }) => cancelled.inc(count)))

  const fenced = counter('fenced_writes_total', 'Results refused because the execution had been reclaimed.')
  subscriptions.use(events.attemptRefused.subscribe(() => fenced.inc()))
  const unwritten = counter('history_write_errors_total', 'Failed writes of results, which are retried.')
  subscriptions.use(events.historyWriteFailed.subscribe(() => unwritten.inc()))
  return ratio
}

function remember<T>(make: (key: string) => T): (key: string) => T {
  const made = new Map<string, T>()
  return (key) => {
    let one = made.get(key)
    if (one === undefined) {
      one = make(key)
      made.set(key, one)
    }
    return one
  }
}
