// Writes jobs that are due at known instants into the database in one go, with the default policies of a job, and reads
// the fate of their slots. Through the API half a million would take minutes.
import { executionDefaults } from '@carillon/contract/constants.ts'
import { retryDefaults } from '@carillon/contract/retry-policy.ts'
import type pg from 'pg'
import { wait } from './load.ts'
import { connectTo } from './register.ts'

/** The tenant that is there from the start. */
export const defaultTenantId = '00000000-0000-7000-8000-000000000001'

export interface DueJobs {
  /** Its only tag, and the beginning of each name. */
  tag: string
  count: number
  tenantId?: string
  /** In UTC. */
  cron: string
  /** The first slot of all of them: one that `cron` yields. */
  firstMs: number
  /** The last one; absent: they go on. */
  lastMs?: number
  /** Each is due up to so much later, always by as much; absent: at the slot. */
  jitterSeconds?: number
  url: string
}

export async function withDatabase<T>(dataDir: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = await connectTo(dataDir)
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

export async function registerDue(client: pg.Client, jobs: DueJobs): Promise<void> {
  const { tag, count, tenantId = defaultTenantId, firstMs, lastMs, jitterSeconds = 0 } = jobs
  const end = lastMs === undefined ? {} : { end_at: new Date(lastMs).toISOString() }
  const schedule = { type: 'CRON', cron_expression: jobs.cron, ...end }
  const payload = { report_type: 'daily_sales' }
  const execution = { ...executionDefaults, callback_url: jobs.url, headers: {}, payload }
  const definition = [schedule, execution, retryDefaults].map((one) => JSON.stringify(one))
  await client.query(registerStatement, [tag, count, tenantId, firstMs, ...definition, jitterSeconds])
}

// Jobs due within the minute that schedulers load ahead are announced to them, as when they are created over the API.
const registerStatement = `
  WITH made AS MATERIALIZED (
    SELECT (lpad(to_hex(to_ms(now()) - $2::int + n), 12, '0') || '7' || left(md5($1::text || n), 19))::uuid AS id, n,
      $1 || ' ' || n AS name
    FROM generate_series(1, $2::int) AS n
  ), job AS (
    INSERT INTO jobs (job_id, tenant_id, version, created_at, updated_at, name, tags, search)
    SELECT id, $3::uuid, 1, now(), now(), name, ARRAY[$1], name || E'\\n\\n' || $1 FROM made
  ), version AS (
    INSERT INTO job_versions (job_id, version, tenant_id, name, tags, schedule, anchor_at, execution, retry_policy,
      priority, overlap_policy, misfire_policy, metadata, jitter_seconds, route, own_rows)
    SELECT id, 1, $3, name, ARRAY[$1], $5::json, now(), $6::json, $7::json, 5, 'SKIP', 'FIRE_ONCE', '{}', $8::int, 'server', false
    FROM made
  ), noted AS (
    INSERT INTO changes (partition_id, job_id) SELECT n % 64, id FROM made
    WHERE from_ms($4::float8) < now() + interval '1 minute'
  )
  INSERT INTO cursors (job_id, tenant_id, partition_id, version, status, slot_at, due_at)
  SELECT id, $3, n % 64, 1, 'ACTIVE', from_ms($4), from_ms($4) FROM made`

/** Until every job that ends has fired its last slot and everything that was fired is on record. */
export async function untilOver(client: pg.Client, msMax: number): Promise<void> {
  const untilMs = performance.now() + msMax
  while (performance.now() < untilMs) {
    const { rows } = await client.query<{ open: boolean }>(
      `SELECT EXISTS (SELECT FROM cursors c JOIN job_versions v USING (job_id, version)
          WHERE c.status = 'ACTIVE' AND v.schedule ->> 'end_at' IS NOT NULL)
        OR EXISTS (SELECT FROM batches) OR EXISTS (SELECT FROM live) OR EXISTS (SELECT FROM catchups) AS open`,
    )
    if (!rows[0]!.open) return
    await wait(200)
  }
  throw new Error(`what was due is not on record ${msMax / 1_000} s later`)
}

export interface SlotCount {
  fired: number
  /** Not run because the one before was still under way. */
  skipped: number
}

/** Slots in [fromMs, toMs) of the jobs with a tag. */
export async function countSlots(
  client: pg.Client,
  { tag, fromMs, toMs }: { tag: string; fromMs: number; toMs: number },
): Promise<SlotCount> {
  const { rows } = await client.query<{ fired: string; skipped: string }>(
    `SELECT count(*) FILTER (WHERE s.reason IS NULL) AS fired, count(*) FILTER (WHERE s.reason IS NOT NULL) AS skipped
    FROM slots s JOIN jobs j USING (job_id) WHERE j.tags @> ARRAY[$1] AND s.slot >= from_ms($2) AND s.slot < from_ms($3)`,
    [tag, fromMs, toMs],
  )
  return { fired: Number(rows[0]!.fired), skipped: Number(rows[0]!.skipped) }
}
