// The role as which the API reads, `carillon_api`: it owns nothing, may do nothing but read, and is under row-level
// security. Made and granted by every process with an API, as far as the program's own role may; any number may do so at
// once, on one database or on several of a server, where they share the role.
import type { RowSecurityOff } from '../../domain/tenants/row-security.ts'
import { OperatingError } from '../../lib/operating-error.ts'
import { countVisibleTenants, selectApiRole } from './api-role.sql.ts'
import type { Database } from './database.ts'

export const apiRole = 'carillon_api'

/** The tables that the reads of the API use besides the ones of which they see a part. */
export const readTables: readonly string[] = [
  ...['tiers', 'jobs', 'job_versions', 'job_edges', 'calendars', 'operations', 'artifacts'],
  ...['cursors', 'slots', 'catchups', 'skips', 'batches', 'live', 'graph_runs', 'run_roots', 'run_notes'],
  ...['attempts', 'dead_letters', 'logs', 'job_days', 'stats_feed', 'rollup_feeds', 'tenant_activity'],
  ...['job_activity', 'job_health', 'failure_groups', 'late_slots', 'workers', 'former_workers'],
]

/** The tables of which they see these columns: no keys, and no hashes of keys. */
const partlyReadTables: Readonly<Record<string, readonly string[]>> = {
  tenants: ['tenant_id', 'name', 'tier', 'created_at'],
  api_keys: [
    ...['key_id', 'tenant_id', 'name', 'prefix', 'scopes', 'created_at', 'created_by', 'expires_at'],
    ...['revoked_at', 'last_used_at'],
  ],
}

export type ApiRoleState = { kind: 'on'; role: string; schemas: string } | ({ kind: 'off' } & RowSecurityOff)

const triesMax = 5
/** It is there, or was granted, since we looked: by another process, or for another database of the server. */
const raced: readonly string[] = ['42710', '23505', 'XX000']
const denied = '42501'

export async function prepareApiRole(database: Database, role: string = apiRole): Promise<ApiRoleState> {
  for (let tries = 1; ; tries++) {
    const found = { role, ...(await look(database, role)) }
    const missing = missingOf(found)
    if (missing === null) return { kind: 'on', role, schemas: found.schemas }
    if (typeof missing !== 'string') return missing
    try {
      await database.define(missing)
    } catch (error) {
      const { code = '' } = error as { code?: string }
      if (code === denied) return off(found, `the role ${found.own_name} may not ${missing.split(' TO ')[0]}`)
      if (!raced.includes(code) || tries === triesMax) throw error
    }
  }
}

/** Refuses to go on if the pool sees rows of a tenant without acting for one, or other rows than the ones of its tenant. */
export async function checkRowSecurity(
  count: () => Promise<number>,
  ofTenant: () => Promise<number>,
): Promise<void> {
  const [without, own] = [await count(), await ofTenant()]
  if (without === 0 && own === 1) return
  throw new OperatingError(
    `Row-level security does not hold for the role ${apiRole}: it sees ${without} tenants without acting for one, and ` +
      `${own} when it acts for the tenant default. Take from it SUPERUSER, BYPASSRLS, and its membership in the role that ` +
      'owns the tables; see docs/access.md.',
  )
}

export async function countTenants(database: Database): Promise<number> {
  const { rows } = await database.query<{ tenants: number }>(countVisibleTenants, [])
  return rows[0]!.tenants
}

interface Found extends FoundRow {
  role: string
}

interface FoundRow {
  is_there: boolean
  may_create: boolean
  /** Row-level security does not hold for it. */
  is_above: boolean
  may_set: boolean
  may_use_schema: boolean
  may_read: boolean
  schemas: string
  own_name: string
  version: number
}

async function look(database: Database, role: string): Promise<FoundRow> {
  const { rows } = await database.query<FoundRow>(selectApiRole, [
    role,
    readTables,
    Object.keys(partlyReadTables),
  ])
  return rows[0]!
}

/** The next statements to carry out, or why there are none; null: all is there. */
function missingOf(found: Found): string | ApiRoleState | null {
  const { is_there, may_create, is_above, may_set, may_use_schema, may_read } = found
  const { role, schemas, own_name, version } = found
  if (!/^\w+(,\w+)*$/.test(schemas)) return off(found, `the schema ${schemas} has an unusual name`)
  if (!is_there && !may_create)
    return off(found, `there is no role ${role}, and ${own_name} may not create roles`)
  if (!is_there) return `CREATE ROLE ${role} NOLOGIN`
  if (is_above) return off(found, `the role ${role} is a superuser, or has BYPASSRLS`)
  if (!may_set)
    return `GRANT ${role} TO CURRENT_USER${version < 160_000 ? '' : ' WITH INHERIT FALSE, SET TRUE'}`
  if (may_read && may_use_schema) return null
  // One process at a time: two that change the rights of a table at once fail.
  return [
    'SELECT pg_advisory_xact_lock(7420, 24)',
    ...(may_use_schema ? [] : [`GRANT USAGE ON SCHEMA ${schemas.split(',')[0]} TO ${role}`]),
    ...Object.entries(partlyReadTables).map(
      ([table, columns]) => `GRANT SELECT (${columns.join(', ')}) ON ${table} TO ${role}`,
    ),
    `GRANT SELECT ON ${readTables.join(', ')} TO ${role}`,
  ].join('; ')
}

function off({ role, own_name }: Found, reason: string): ApiRoleState {
  return { kind: 'off', reason, remedy: `CREATE ROLE ${role} NOLOGIN; GRANT ${role} TO "${own_name}";` }
}
