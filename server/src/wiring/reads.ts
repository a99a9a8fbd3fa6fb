// The reads of the API (lists, searches, history) on a pool of their own: however slow they are, no fire, claim or write
// waits for a connection behind them, and no tenant takes all of the pool while there is another one.
import { callerActedFor } from '../domain/tenants/tenant-scope.ts'
import { type LeavePlace, TenantTurns } from '../domain/tenants/tenant-turns.ts'
import type { ApiKeys } from '../ports/api-keys.ts'
import type { StorePorts } from '../ports/store.ts'
import type { Tiers } from '../ports/tiers.ts'
import type { Workers } from '../ports/workers.ts'
import type { World } from '../ports/world.ts'
import { readConnections, readConnectionsOfOperators, readConnectionsShare } from './connections.ts'

const waitingMax = 10_000
/** As long as the wait for a free connection of any pool. */
const waitMsMax = 5_000

/** Waits for a connection of the reads, by the caller of the request. */
export function turnsToRead(
  { timers }: Pick<World, 'timers'>,
  isShared: () => boolean,
): () => Promise<LeavePlace> {
  const turns = new TenantTurns({
    placesMax: readConnections,
    operatorPlaces: readConnectionsOfOperators,
    shareMax: readConnectionsShare,
    waitingMax,
    waitMsMax,
    of: 'the database',
    isShared,
    schedule: (ms, callback) => timers.schedule(ms, callback),
  })
  return () => turns.take(callerActedFor() ?? { tenantId: '', operator: false })
}

/**
 * The ports of the API by the pool that they use. Through the ports that are replaced here the API only reads: it writes
 * through `requests`, which has stores of its own. The others find callers, act on executions under way, or look at the
 * whole installation. `takeTurn`: for reads that look at rows of others, too, so that they must act as the owner.
 */
export function withReads(
  store: StorePorts,
  reads: StorePorts,
  takeTurn: () => Promise<LeavePlace>,
): StorePorts {
  const { jobs, jobVersions, calendars, artifacts, operations, plannedJobs } = reads
  const { executions, slotLedger, rollups, jobHealth, deadLetters, activity, graphRuns } = reads
  const { logs } = store
  return {
    ...store,
    ...{ jobs, jobVersions, calendars, artifacts, operations, plannedJobs },
    ...{ executions, slotLedger, rollups, jobHealth, deadLetters, activity, graphRuns },
    workers: workersWithReads(store.workers, reads.workers, takeTurn),
    apiKeys: apiKeysWithReads(store.apiKeys, reads.apiKeys),
    tiers: tiersWithReads(store.tiers, reads.tiers),
    logs: {
      append: (parts) => logs.append(parts),
      read: (query) => reads.logs.read(query),
      prune: (days, max) => logs.prune(days, max),
    },
  }
}

/** A tenant sees its own workers. Operators see all, and which workers may run a job is a question about ours, too. */
function workersWithReads(workers: Workers, reads: Workers, takeTurn: () => Promise<LeavePlace>): Workers {
  const inTurn = async <T>(read: () => Promise<T>): Promise<T> => {
    const leave = await takeTurn()
    try {
      return await read()
    } finally {
      leave()
    }
  }
  return {
    page: (query) => (query.tenantId === null ? workers : reads).page(query),
    count: (of) => (of.tenantId === null ? workers : reads).count(of),
    runners: (wanted) => inTurn(() => workers.runners(wanted)),
    countHeld: (workerIds) => inTurn(() => workers.countHeld(workerIds)),
    // Before a worker may claim, beat or report, and before an upload.
    find: (tenantId, workerId) => workers.find(tenantId, workerId),
    hasRunner: (wanted, options) => workers.hasRunner(wanted, options),
    prune: (limit) => workers.prune(limit),
  }
}

/** A list of the keys of operators is read as the owner: they belong to no tenant. */
function apiKeysWithReads(apiKeys: ApiKeys, reads: ApiKeys): ApiKeys {
  return {
    list: (query) => (query.tenantId === null ? apiKeys : reads).list(query),
    create: (key) => apiKeys.create(key),
    findByHash: (hash) => apiKeys.findByHash(hash),
    get: (owners, keyId) => apiKeys.get(owners, keyId),
    change: (owners, keyId, changes) => apiKeys.change(owners, keyId, changes),
    revoke: (owners, keyId) => apiKeys.revoke(owners, keyId),
    noteUse: (keyId) => apiKeys.noteUse(keyId),
  }
}

/** The limits of tiers belong to no tenant; the tenants on a tier are looked at as the owner. */
function tiersWithReads(tiers: Tiers, reads: Tiers): Tiers {
  return {
    list: () => reads.list(),
    get: (name) => reads.get(name),
    put: (tier) => tiers.put(tier),
    listTenants: (name, limit) => tiers.listTenants(name, limit),
    measure: (tenantId, tier) => tiers.measure(tenantId, tier),
  }
}
