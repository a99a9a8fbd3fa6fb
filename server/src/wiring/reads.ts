// The reads of the API (lists, searches, history) on a pool of their own: however slow they are, no fire, claim or write
// waits for a connection behind them, and no tenant takes all of the pool while there is another one.
import { tenantActedFor } from '../domain/tenants/tenant-scope.ts'
import { type LeavePlace, TenantTurns } from '../domain/tenants/tenant-turns.ts'
import type { StorePorts } from '../ports/store.ts'
import type { World } from '../ports/world.ts'
import { readConnections, readConnectionsShare } from './connections.ts'

const waitingMax = 10_000
/** As long as the wait for a free connection of any pool. */
const waitMsMax = 5_000

/** Waits for a connection of the reads, by the tenant of the request. */
export function turnsToRead(
  { timers }: Pick<World, 'timers'>,
  isShared: () => boolean,
): () => Promise<LeavePlace> {
  const turns = new TenantTurns({
    placesMax: readConnections,
    shareMax: readConnectionsShare,
    waitingMax,
    waitMsMax,
    of: 'the database',
    isShared,
    schedule: (ms, callback) => timers.schedule(ms, callback),
  })
  return () => turns.take(tenantActedFor() ?? '')
}

/**
 * The ports of the API by the pool that they use. Through the ports that are replaced here the API only reads: it writes
 * through `requests`, which has stores of its own. The others find callers, act on executions under way, or look at the
 * whole installation.
 */
export function withReads(store: StorePorts, reads: StorePorts): StorePorts {
  const { jobs, jobVersions, calendars, artifacts, operations, plannedJobs } = reads
  const { executions, slotLedger, rollups, deadLetters, activity, graphRuns } = reads
  const { logs } = store
  return {
    ...store,
    ...{ jobs, jobVersions, calendars, artifacts, operations, plannedJobs },
    ...{ executions, slotLedger, rollups, deadLetters, activity, graphRuns },
    logs: {
      append: (parts) => logs.append(parts),
      read: (query) => reads.logs.read(query),
      prune: (days, max) => logs.prune(days, max),
    },
  }
}
