// The values that /metrics reads from the store and from this process on a scrape. A process that is only a worker leaves
// out the values of the store: a fleet has many, and each scrape of each would ask the database the same.
import type { Role } from '../domain/role.ts'
import type { Clock } from '../ports/clock.ts'
import type { StorePorts } from '../ports/store.ts'
import { version } from '../process/version.ts'
import { Metrics } from '../telemetry/metrics.ts'
import type { ProcessReports } from '../telemetry/process-metrics.ts'

export interface MetricsDeps {
  clock: Clock
  roles: readonly Role[]
  store: Pick<StorePorts, 'gauges' | 'workers' | 'deadLetters' | 'partitions'>
  /** Share of this process's worker that is in use; null without the worker role. */
  utilization: () => number | null
  /** Metrics of the other processes of this server. */
  reports: ProcessReports
}

export function createMetrics(deps: MetricsDeps): Metrics {
  const { clock, roles, utilization, reports } = deps
  const metrics = new Metrics(version, () => clock.monotonicMs(), reports)
  metrics.gauge(
    'carillon_clock_uncertainty_seconds',
    'Largest possible error of this process’s estimate of the database’s clock; above 1 its scheduler holds no partitions.',
    async () => clock.uncertaintyMs() / 1_000,
  )
  metrics.gauge(
    'carillon_worker_utilization',
    'Share of the HTTP capacity in use: the mean of the processes of this server.',
    async () => reports.utilization(utilization()),
  )
  if (roles.some((role) => role !== 'worker')) addStoreGauges(metrics, deps)
  return metrics
}

function addStoreGauges(metrics: Metrics, { clock, store }: MetricsDeps): void {
  const { gauges, workers, deadLetters, partitions } = store
  const byBand = async (pick: (band: { depth: number; oldestSeconds: number }) => number) =>
    Object.fromEntries(Object.entries(await gauges.queue()).map(([band, values]) => [band, pick(values)]))

  metrics.gauges({ name: 'carillon_workers', help: 'Workers by state.', label: 'state' }, async () => {
    const { active, draining, silent } = await workers.count({ tenantId: null })
    return { ACTIVE: active, DRAINING: draining, DEAD: silent }
  })
  metrics.gauges(
    {
      name: 'carillon_queue_depth',
      help: 'Executions that wait for a worker, by priority band.',
      label: 'band',
    },
    () => byBand(({ depth }) => depth),
  )
  metrics.gauges(
    {
      name: 'carillon_queue_oldest_seconds',
      help: 'Waiting time of the oldest execution that waits for a worker, by priority band.',
      label: 'band',
    },
    () => byBand(({ oldestSeconds }) => oldestSeconds),
  )
  metrics.gauges(
    { name: 'carillon_history_bytes', help: 'Size of the history.', label: 'tier' },
    async () => ({
      hot: await gauges.historyBytes(),
    }),
  )
  metrics.gauge('carillon_overdue_jobs', 'Jobs with an overdue slot that no scheduler fires.', () =>
    gauges.overdueJobs(),
  )
  metrics.gauge('carillon_partitions_unowned', 'Partitions that no scheduler holds.', () =>
    gauges.unownedPartitions(),
  )
  metrics.gauges(
    {
      name: 'carillon_partitions_held',
      help: 'Partitions held by each scheduler; a scheduler gets a new id at each start.',
      label: 'scheduler',
    },
    async () => {
      const { schedulers, holders } = await partitions.view()
      const counts = Object.fromEntries(schedulers.map(({ holderId }) => [holderId, 0]))
      for (const holder of holders) if (holder !== null) counts[holder] = (counts[holder] ?? 0) + 1
      return counts
    },
  )
  metrics.gauge(
    'carillon_oldest_transaction_seconds',
    'Age of the oldest open transaction in the database; PostgreSQL cannot remove rows that it still sees.',
    () => gauges.oldestTransaction(),
  )
  metrics.gauge(
    'carillon_dead_letters',
    'Number of dead letters; 10,001 means more than 10,000.',
    async () => (await deadLetters.depth()).count,
  )
  metrics.gauge(
    'carillon_dead_letter_oldest_seconds',
    'Age of the oldest dead letter; 0 if there is none.',
    async () => {
      const { oldestAt } = await deadLetters.depth()
      return oldestAt === null ? 0 : (clock.databaseNow() - oldestAt) / 1_000
    },
  )
}
