// The one list of stored ports. A store opens all of them at once: `openPostgresStore` on a pool of connections,
// `openMemoryStore` for tests and the simulator.
import type { Activity } from './activity.ts'
import type { ApiKeys } from './api-keys.ts'
import type { ApiProcesses } from './api-processes.ts'
import type { Artifacts } from './artifacts.ts'
import type { Attempts } from './attempts.ts'
import type { Calendars } from './calendars.ts'
import type { Control } from './control.ts'
import type { DailyPartitions } from './daily-partitions.ts'
import type { DeadLetters } from './dead-letters.ts'
import type { ExecutionBudgets } from './execution-budgets.ts'
import type { Executions } from './executions.ts'
import type { Feed } from './feed.ts'
import type { Gauges } from './gauges.ts'
import type { GraphRuns, RunSteps } from './graph-runs.ts'
import type { HistoryProcesses } from './history-processes.ts'
import type { HealthOfJobs } from './job-health.ts'
import type { JobVersions } from './job-versions.ts'
import type { Jobs } from './jobs.ts'
import type { Leases } from './leases.ts'
import type { Logs } from './logs.ts'
import type { Maintenance } from './maintenance.ts'
import type { Operations } from './operations.ts'
import type { Partitions } from './partitions.ts'
import type { Peers } from './peers.ts'
import type { PlannedJobs } from './planned-jobs.ts'
import type { Queue } from './queue.ts'
import type { Requests } from './requests.ts'
import type { Rollups } from './rollups.ts'
import type { Routes } from './routes.ts'
import type { Secrets } from './secrets.ts'
import type { Sessions } from './sessions.ts'
import type { SlotLedger } from './slot-ledger.ts'
import type { Slots } from './slots.ts'
import type { TenantEnds } from './tenant-ends.ts'
import type { TenantRoom } from './tenant-room.ts'
import type { Tenants } from './tenants.ts'
import type { Tiers } from './tiers.ts'
import type { Workers } from './workers.ts'

export interface StorePorts {
  // jobs
  jobs: Jobs
  jobVersions: JobVersions
  calendars: Calendars
  artifacts: Artifacts
  operations: Operations
  requests: Requests
  // scheduling
  slots: Slots
  partitions: Partitions
  plannedJobs: PlannedJobs
  // queue
  queue: Queue
  attempts: Attempts
  control: Control
  maintenance: Maintenance
  executionBudgets: ExecutionBudgets
  routes: Routes
  leases: Leases
  workers: Workers
  peers: Peers
  gauges: Gauges
  // graphs
  graphRuns: GraphRuns
  runSteps: RunSteps
  // history
  executions: Executions
  slotLedger: SlotLedger
  rollups: Rollups
  jobHealth: HealthOfJobs
  historyProcesses: HistoryProcesses
  deadLetters: DeadLetters
  logs: Logs
  activity: Activity
  feed: Feed
  dailyPartitions: DailyPartitions
  // access
  tenants: Tenants
  tenantEnds: TenantEnds
  tiers: Tiers
  tenantRoom: TenantRoom
  apiKeys: ApiKeys
  apiProcesses: ApiProcesses
  sessions: Sessions
  secrets: Secrets
}

/** The leases of workers and schedulers: on a connection of their own, so that a pool all in use costs no lease. */
export type LeasePorts = Pick<StorePorts, 'leases' | 'partitions'>
/** The ports that live views read, on a pool of their own: a slow view must hold up nothing else. */
export type EventPorts = Pick<StorePorts, 'feed' | 'executions' | 'graphRuns' | 'logs'>
