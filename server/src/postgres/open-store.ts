// Every stored port on one pool of connections. A server opens four: the main pool, the connection of its leases,
// the pool of live views, and the pool of the reads of its API.
import type { StorePorts } from '../ports/store.ts'
import { PostgresApiProcesses } from './access/api-processes.ts'
import { PostgresSecrets } from './access/secrets.ts'
import { PostgresSessions } from './access/sessions.ts'
import { PostgresTenantEnds } from './access/tenant-ends.ts'
import { PostgresDailyPartitions } from './connection/daily-partitions.ts'
import type { Database } from './connection/database.ts'
import { PostgresRunSteps } from './graphs/run-steps.ts'
import { PostgresActivity } from './history/activity.ts'
import { PostgresExecutions } from './history/executions.ts'
import { PostgresFeed } from './history/feed.ts'
import { PostgresHistoryProcesses } from './history/history-processes.ts'
import { PostgresJobHealth } from './history/job-health.ts'
import { PostgresLogs } from './history/logs.ts'
import { PostgresRollups } from './history/rollups.ts'
import { PostgresSlotLedger } from './history/slot-ledger.ts'
import { PostgresJobVersions } from './jobs/job-versions.ts'
import { PostgresOperations } from './jobs/operations.ts'
import { PostgresRequests, storesOn } from './jobs/requests.ts'
import { PostgresAttempts } from './queue/attempts.ts'
import { PostgresExecutionBudgets } from './queue/execution-budgets.ts'
import { PostgresGauges } from './queue/gauges.ts'
import { PostgresMaintenance } from './queue/maintenance.ts'
import { PostgresPeers } from './queue/peers.ts'
import { PostgresQueue } from './queue/queue.ts'
import { PostgresRoutes } from './queue/routes.ts'
import { PostgresWorkers } from './queue/workers.ts'
import { PostgresPartitions } from './scheduling/partitions.ts'
import { PostgresPlannedJobs } from './scheduling/planned-jobs.ts'
import { PostgresSlots } from './scheduling/slots.ts'

export function openPostgresStore(database: Database): StorePorts {
  const workers = new PostgresWorkers(database)
  return {
    ...storesOn(database),
    jobVersions: new PostgresJobVersions(database),
    operations: new PostgresOperations(database),
    tenantEnds: new PostgresTenantEnds(database),
    requests: new PostgresRequests(database),
    slots: new PostgresSlots(database),
    partitions: new PostgresPartitions(database),
    plannedJobs: new PostgresPlannedJobs(database),
    queue: new PostgresQueue(database),
    attempts: new PostgresAttempts(database),
    maintenance: new PostgresMaintenance(database),
    executionBudgets: new PostgresExecutionBudgets(database),
    routes: new PostgresRoutes(database),
    leases: workers,
    workers,
    peers: new PostgresPeers(database),
    gauges: new PostgresGauges(database),
    runSteps: new PostgresRunSteps(database),
    executions: new PostgresExecutions(database),
    slotLedger: new PostgresSlotLedger(database),
    rollups: new PostgresRollups(database),
    jobHealth: new PostgresJobHealth(database),
    historyProcesses: new PostgresHistoryProcesses(database),
    apiProcesses: new PostgresApiProcesses(database),
    logs: new PostgresLogs(database),
    activity: new PostgresActivity(database),
    feed: new PostgresFeed(database),
    dailyPartitions: new PostgresDailyPartitions(database),
    sessions: new PostgresSessions(database),
    secrets: new PostgresSecrets(database),
  }
}
