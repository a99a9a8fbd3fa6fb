// The values that /metrics reads from the store and from this process on a scrape.
import type { Clock } from '../ports/clock.ts'
import type { StorePorts } from '../ports/store.ts'
import { version } from '../process/version.ts'
import { Metrics } from '../telemetry/metrics.ts'
import type { ProcessReports } from '../telemetry/process-metrics.ts'

export interface MetricsDeps {
  clock: Clock
  store: Pick<StorePorts, 'gauges' | 'workers' | 'deadLetters' | 'partitions'>
  /** Share of this process's worker that is in use; null without the worker role. */
  utilization: () => number | null
  /** Of the other processes. */
  reports: ProcessReports
}

export function createMetrics({ clock, store, utilization, reports }: MetricsDeps): Metrics {
  const metrics = new Metrics(version, () => clock.monotonicMs(), reports)
  const { gauges, workers, deadLetters, partitions } = store
  const byBand = async (pick: (band: { depth: number; oldestSeconds: number }) => number) =>
    Object.fromEntries(Object.entries(await gauges.queue()).map(([band, values]) => [band, pick(values)]))

  metrics.gauges({ name: 'carillon_workers', help: 'Workers by state.', label: 'state' }, async () => {
    const counts: Record<string, number> = { ACTIVE: 0, DRAINING: 0, DEAD: 0 }
    for (const { status } of await workers.list({ tenantId: null })) counts[status]! += 1
    return counts
  })
  metrics.gauges(
    {
      name: 'carillon_queue_depth',
      help: 'Executions that wait for a worker, by band of priority.',
      label: 'band',
    },
    () => byBand(({ depth }) => depth),
  )
  metrics.gauges(
    { name: 'carillon_queue_oldest_seconds', help: 'How long the oldest of them has waited.', label: 'band' },
    () => byBand(({ oldestSeconds }) => oldestSeconds),
  )
  metrics.gauges(
    { name: 'carillon_history_bytes', help: 'Size of the history.', label: 'tier' },
    async () => ({
      hot: await gauges.historyBytes(),
    }),
  )
  metrics.gauge('carillon_overdue_jobs', 'Jobs whose slot is long over and that nobody fires.', () =>
    gauges.overdueJobs(),
  )
  metrics.gauge('carillon_partitions_unowned', 'Partitions that no scheduler holds.', () =>
    gauges.unownedPartitions(),
  )
  metrics.gauges(
    {
      name: 'carillon_partitions_held',
      help: 'Partitions by the scheduler that holds them; each start of a scheduler has an id of its own.',
      label: 'scheduler',
    },
    async () => {
      const { schedulers, holders } = await partitions.view()
      const counts = Object.fromEntries(schedulers.map(({ workerId }) => [workerId, 0]))
      for (const holder of holders) if (holder !== null) counts[holder] = (counts[holder] ?? 0) + 1
      return counts
    },
  )
  metrics.gauge(
    'carillon_clock_uncertainty_seconds',
    'How far this process may be off the database’s clock; above 1 a scheduler holds no partitions.',
    async () => clock.uncertaintyMs() / 1_000,
  )
  metrics.gauge(
    'carillon_oldest_transaction_seconds',
    'For how long the oldest transaction in the database has been open: what it sees cannot be cleared away.',
    () => gauges.oldestTransaction(),
  )
  metrics.gauge(
    'carillon_dead_letters',
    'Dead letters; 10,001 stands for more.',
    async () => (await deadLetters.depth()).count,
  )
  metrics.gauge(
    'carillon_dead_letter_oldest_seconds',
    'Age of the oldest dead letter; 0 without any.',
    async () => {
      const { oldestAt } = await deadLetters.depth()
      return oldestAt === null ? 0 : (clock.databaseNow() - oldestAt) / 1_000
    },
  )
  metrics.gauge(
    'carillon_worker_utilization',
    'Share of the HTTP workers that is in use; the mean of the processes of this start.',
    async () => reports.utilization(utilization()),
  )
  return metrics
}
