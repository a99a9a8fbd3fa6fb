// The pools by which the API reads, under row-level security where the program's role may set that up.
import type { RowSecurityOff } from '../../domain/tenants/row-security.ts'
import { defaultTenantId } from '../../domain/tenants/tenant.ts'
import { actForTenant, tenantActedFor } from '../../domain/tenants/tenant-scope.ts'
import { retryUntilAvailable } from '../../lib/retry-until-available.ts'
import type { World } from '../../ports/world.ts'
import { rowSecurityMissed } from '../../telemetry/events.ts'
import { checkRowSecurity, countTenants, prepareApiRole } from './api-role.ts'
import { Database, type DatabaseAddress } from './database.ts'

/** Live views give up early: they must hold up nothing. */
const eventOptions = { name: 'events', statementMs: 2_000 }

export interface ReadPoolDeps {
  world: Pick<World, 'clock' | 'timers' | 'random'>
  address: DatabaseAddress
  /** Of the owner of the tables. */
  database: Database
  /** How many connections each may have. */
  readConnections: number
  eventConnections: number
  /** Waits for the right to use one of the reads. */
  takeTurn: () => Promise<() => void>
  resources: AsyncDisposableStack
}

export interface ReadPools {
  reads: Database
  events: Database
  /** Null: row-level security holds for them. */
  rowSecurityOff: RowSecurityOff | null
}

export async function openReadPools({
  world,
  address,
  database,
  readConnections,
  eventConnections,
  takeTurn,
  resources,
}: ReadPoolDeps): Promise<ReadPools> {
  const state = await retryUntilAvailable(world, () => prepareApiRole(database))
  const actsAs = state.kind === 'on' ? { ...state, tenant: tenantActedFor } : undefined
  const common = { address, ...(actsAs !== undefined && { actsAs }) }
  const reads = resources.use(
    new Database(world, { name: 'reads', connectionsMax: readConnections, ...common, takeTurn }),
  )
  const events = resources.use(
    new Database(world, { ...eventOptions, connectionsMax: eventConnections, ...common }),
  )
  if (state.kind === 'off') {
    const { reason, remedy } = state
    rowSecurityMissed.emit({ reason, remedy })
    return { reads, events, rowSecurityOff: { reason, remedy } }
  }
  const count = () => retryUntilAvailable(world, () => countTenants(reads))
  await checkRowSecurity(count, () => actForTenant(defaultTenantId, count))
  return { reads, events, rowSecurityOff: null }
}
