// Every stored port on one in-memory state, for simulation and for tests of the edge.
import type { Clock } from '../../src/ports/clock.ts'
import type { StorePorts } from '../../src/ports/store.ts'
import { MemoryActivity } from './activity.ts'
import { MemoryApiKeys } from './api-keys.ts'
import { MemoryApiProcesses } from './api-processes.ts'
import { MemoryArtifacts } from './artifacts.ts'
import { MemoryAttempts } from './attempts.ts'
import { MemoryCalendars } from './calendars.ts'
import { MemoryControl } from './control.ts'
import { MemoryDeadLetters } from './dead-letters.ts'
import { MemoryExecutionBudgets } from './execution-budgets.ts'
import { MemoryExecutions } from './executions.ts'
import { MemoryFeed } from './feed.ts'
import { MemoryGauges } from './gauges.ts'
import { MemoryGraphRuns } from './graph-runs.ts'
import { MemoryHistoryProcesses } from './history-processes.ts'
import { MemoryJobHealth } from './job-health.ts'
import { MemoryJobVersions } from './job-versions.ts'
import { MemoryJobs } from './jobs.ts'
import { MemoryLogs } from './logs.ts'
import { MemoryMaintenance } from './maintenance.ts'
import { MemoryOperations } from './operations.ts'
import { MemoryPartitions } from './partitions.ts'
import { MemoryPeers } from './peers.ts'
import { MemoryPlannedJobs } from './planned-jobs.ts'
import { MemoryQueue } from './queue.ts'
import { MemoryRequests } from './requests.ts'
import { MemoryRollups } from './rollups.ts'
import { MemoryRoutes } from './routes.ts'
import { MemoryRunSteps } from './run-steps.ts'
import { MemorySecrets } from './secrets.ts'
import { MemorySessions } from './sessions.ts'
import { MemorySlotLedger } from './slot-ledger.ts'
import { MemorySlots } from './slots.ts'
import { MemoryStore } from './store.ts'
import { MemoryTenantEnds } from './tenant-ends.ts'
import { MemoryTenantRoom } from './tenant-room.ts'
import { MemoryTenants } from './tenants.ts'
import { MemoryTiers } from './tiers.ts'
import { MemoryWorkers } from './workers.ts'

export function openMemoryStore(clock: Pick<Clock, 'databaseNow'>) {
  const store = new MemoryStore(clock)
  const workers = new MemoryWorkers(store)
  const tenants = new MemoryTenants(store)
  const artifacts = new MemoryArtifacts(store)
  const tenantRoom = new MemoryTenantRoom(store, { tenants, artifacts })
  const tiers = new MemoryTiers(store, { tenants, tenantRoom })
  const operations: MemoryOperations = new MemoryOperations(store, () => stores)
  const apiKeys = new MemoryApiKeys(store, tenants)
  const tenantEnds: MemoryTenantEnds = new MemoryTenantEnds(
    store,
    { tenants, apiKeys, artifacts },
    () => stores,
  )
  const stores = {
    jobs: new MemoryJobs(store),
    control: new MemoryControl(store),
    deadLetters: new MemoryDeadLetters(store),
    operations,
    tenants,
    tenantEnds,
    tiers,
    apiKeys,
    calendars: new MemoryCalendars(store),
    artifacts,
    tenantRoom,
    graphRuns: new MemoryGraphRuns(store),
    workers,
  }
  return {
    /** The tables themselves: to count recorded rows, or to give a tenant another weight. */
    store,
    ...stores,
    requests: new MemoryRequests(store, stores),
    slots: new MemorySlots(store),
    queue: new MemoryQueue(store),
    attempts: new MemoryAttempts(store),
    logs: new MemoryLogs(store, tenantRoom),
    routes: new MemoryRoutes(store),
    secrets: new MemorySecrets(store),
    sessions: new MemorySessions(store),
    maintenance: new MemoryMaintenance(store),
    executionBudgets: new MemoryExecutionBudgets(store),
    runSteps: new MemoryRunSteps(store),
    leases: workers,
    peers: new MemoryPeers(store),
    partitions: new MemoryPartitions(store),
    executions: new MemoryExecutions(store),
    slotLedger: new MemorySlotLedger(store),
    rollups: new MemoryRollups(store),
    jobHealth: new MemoryJobHealth(store),
    historyProcesses: new MemoryHistoryProcesses(store),
    apiProcesses: new MemoryApiProcesses(store),
    feed: new MemoryFeed(store),
    jobVersions: new MemoryJobVersions(store),
    activity: new MemoryActivity(store),
    plannedJobs: new MemoryPlannedJobs(store),
    gauges: new MemoryGauges(store),
    // Nothing is partitioned here.
    dailyPartitions: { async keep() {} },
  } satisfies StorePorts & { store: MemoryStore }
}
