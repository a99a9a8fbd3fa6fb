// The tables of the installation, of tenants and of access, in words. See tables.ts.
import type { TableNote } from './tables.ts'

export const accessTables: readonly TableNote[] = [
  {
    table: 'schema_migrations',
    purpose: 'The migrations that were applied, each with the checksum of its text.',
    growth: 'one row a migration',
    retention: 'for ever',
  },
  {
    table: 'installation',
    purpose: 'One row: the secret that all processes of an installation share.',
    growth: 'one row',
    retention: 'for ever',
    columns: { token_key: 'signs the tokens with which a target reports on its attempt' },
  },
  {
    table: 'tiers',
    purpose: 'The limits and the fair-share weight that tenants of a tier have.',
    growth: 'four rows, made by migrations, and more made by operators: at most 100',
    retention: 'for ever',
    columns: {
      weight: 'share of the workers when several lanes have executions waiting',
      priority_best: 'the smallest priority number allowed; 1 is the most urgent',
      dead_letters: 'whether the tenant sees its dead letters; they are kept either way',
      requests_per_second: 'null: no limit',
      host_calls_per_second: 'calls to one host; null: no limit',
      active_jobs_max: 'null: no limit',
      timeout_seconds_max: 'of an attempt; null: no limit',
      executions_per_minute: "two minutes' worth may come at once; null: no limit",
      concurrent_executions_max: 'running at once; null: no limit',
      waiting_executions_max: 'waiting to be started; null: no limit',
      storage_bytes_max: 'bundles, versions, payloads of waiting executions and logs; null: no limit',
    },
  },
  {
    table: 'tenants',
    purpose: 'A customer, its tier, and the keys that sign its callbacks.',
    growth: 'one row a tenant',
    retention: 'for ever, also of a purged tenant: its id is used by no other',
    columns: {
      previous_signing_key: 'signs beside the current key until previous_until',
      deleted_at: 'null: it is not deleted',
      purge_at: 'when the purge begins, or began, by itself or by request',
      purge_begun_at: 'from then on it cannot be restored',
      purged_at: 'nothing else is left of it; the name is free',
      restored_at: 'the latest restore: slots of a paused job up to then are skipped',
    },
  },
  {
    table: 'deleted_tenants',
    purpose: 'The tenants of which nothing fires. Fires and triggers read all of it: it is a fence.',
    growth: 'one row a deleted tenant; mostly none',
    retention: 'until the tenant is restored or purged',
  },
  {
    table: 'tenant_work',
    purpose: 'The work on the end of a tenant: its jobs paused or resumed, its rows kept or purged.',
    growth: 'one row a deleted tenant, or one that is being restored',
    retention: 'until the tenant is restored or purged',
    columns: {
      stage: 'stop, keep, restore or purge: see domain/tenants/tenant-end.ts',
      operation_id: 'the operation that shows its progress',
      deleted_at: 'by which a restore knows the pauses of the delete',
      after: 'how far the stage is',
      failures: 'steps that failed in a row',
    },
  },
  {
    table: 'api_keys',
    purpose: 'API keys as hashes, with their scopes. The key itself is stored nowhere.',
    growth: 'at most 1,000 usable keys a tenant',
    retention: 'for ever; of revoked keys the latest 1,000 a tenant',
    columns: {
      tenant_id: 'null: a key of an operator, for every tenant',
      prefix: 'the first characters of the key, for lists',
      hash: 'SHA-256 of the key',
    },
  },
  {
    table: 'sessions',
    purpose: 'Open dashboard sessions, as hashes of their cookies.',
    growth: 'at most 100 a key',
    retention: 'until expires_at; deleted when later sessions open',
    columns: { key_hash: 'the key that opened the session, which ends with it' },
  },
  {
    table: 'session_codes',
    purpose: 'One-time links that open a session, as hashes. Use deletes the row.',
    growth: 'one row a link that was not used',
    retention: 'until used, or until expires_at; deleted when later codes are made',
  },
]
