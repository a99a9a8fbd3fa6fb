// The counts of several processes as one. Each process counts its own events; the others report to the first, which
// answers for all. A counter never goes back: the counts of an ended process stay in the sum, and its replacement
// begins at zero. A killed process loses its counts since its last report, a second at most.
import { Counter, type MetricObject, Registry } from '@prometheus-io/client'
import { collectEngineMetrics } from './engine-metrics.ts'
import * as events from './events.ts'
import type { RecentCounts, RecentRatio } from './recent-ratio.ts'

/** How often a child process reports its counts. */
export const reportEveryMs = 1_000

/** The report of a child process: all its counts since its start, so that a lost report costs nothing. */
export interface ProcessReport {
  /** Counters and histograms, as `getMetricsAsJSON` has them. */
  metrics: readonly object[]
  recent: RecentCounts
  /** Share of its HTTP worker that is in use; null: it has none. */
  utilization: number | null
}

/** The counts of this process. */
export class ProcessMetrics implements Disposable {
  readonly #registry = new Registry()
  readonly #subscriptions = new DisposableStack()
  readonly #recent: RecentRatio

  /** `nowMs`: a monotonic clock. `elsewhere`: the recent counts of the other processes. */
  constructor(nowMs: () => number, elsewhere?: () => readonly RecentCounts[]) {
    const registers = [this.#registry]
    this.#recent = collectEngineMetrics(this.#registry, this.#subscriptions, nowMs, elsewhere)
    const deaths = new Counter({
      name: 'carillon_worker_deaths_total',
      help: 'Workers declared dead because their heartbeats stopped.',
      registers,
    })
    const failures = new Counter({
      name: 'carillon_loop_failures_total',
      help: 'Failed steps of background loops, which are retried.',
      labelNames: ['loop'],
      registers,
    })
    const diskFull = new Counter({
      name: 'carillon_disk_full_total',
      help: 'Minutes in which the database refused a statement because its disk is full.',
      registers,
    })
    this.#subscriptions.use(events.diskFull.subscribe(() => diskFull.inc()))
    this.#subscriptions.use(events.workerReclaimed.subscribe(() => deaths.inc()))
    this.#subscriptions.use(events.loopFailed.subscribe(({ loop }) => failures.inc({ loop })))
  }

  /** For the first process. Gauges are left out: they cannot be added up. */
  async report(utilization: number | null): Promise<ProcessReport> {
    const metrics = await this.#registry.getMetricsAsJSON()
    return {
      metrics: metrics.filter(({ type }) => ['counter', 'histogram'].includes(String(type))),
      recent: this.#recent.counts(),
      utilization,
    }
  }

  /** The counts of this process plus the counts of the others. */
  async sumWith(reports: ProcessReports): Promise<Registry> {
    return Registry.aggregate([await this.#registry.getMetricsAsJSON(), ...reports.metrics()])
  }

  [Symbol.dispose](): void {
    this.#subscriptions.dispose()
  }
}

/** The reports of the other processes, kept by the first. A process is any object that stands for it. */
export class ProcessReports {
  readonly #latest = new Map<object, ProcessReport>()
  #ended: readonly object[] = []

  note(process: object, report: ProcessReport): void {
    this.#latest.set(process, report)
  }

  /** Its counts stay; how it fared of late and how busy it was is over. */
  end(process: object): void {
    const last = this.#latest.get(process)
    if (last === undefined) return
    this.#latest.delete(process)
    const sum: MetricObject[] = Registry.aggregate([this.#ended, last.metrics]).getMetricsAsArray()
    this.#ended = sum
  }

  metrics(): (readonly object[])[] {
    return [this.#ended, ...this.#living().map(({ metrics }) => metrics)]
  }

  recent(): RecentCounts[] {
    return this.#living().map(({ recent }) => recent)
  }

  /** The mean over all HTTP workers, with that of the first process; null: there is none. */
  utilization(first: number | null): number | null {
    const all = [first, ...this.#living().map(({ utilization }) => utilization)].filter((one) => one !== null)
    return all.length === 0 ? null : all.reduce((sum, one) => sum + one, 0) / all.length
  }

  #living(): ProcessReport[] {
    return [...this.#latest.values()]
  }
}
