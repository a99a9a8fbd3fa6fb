// The evidence that the checker judges by: the tables in one read-only snapshot, and the files of the run. Plain data
// from here on: times are milliseconds since 1970.
import pg from 'pg'
import { type FaultLine, type HistoryLine, type ReceiverLine, readLines, type WatchLine } from './history.ts'

export interface Evidence {
  /** When the tables were read, by the database's clock. */
  readAt: number
  jobs: readonly JobRow[]
  versions: readonly VersionRow[]
  slots: readonly SlotRow[]
  skips: readonly SkipRow[]
  attempts: readonly AttemptRow[]
  /** Executions that have not ended: the rows of `live`, and the executions in batches. */
  live: readonly LiveRow[]
  batched: readonly { executionId: string; jobId: string; workerId: string | null }[]
  owed: readonly { jobId: string; from: number; to: number }[]
  deadLetters: readonly { executionId: string; jobId: string; reason: string; attempts: number }[]
  graphRuns: readonly GraphRunRow[]
  /** Run events that no run step has processed yet. */
  runNotes: readonly { runId: string; what: string }[]
  /** The holder of each partition. */
  partitions: readonly (string | null)[]
  history: readonly HistoryLine[]
  receiver: readonly ReceiverLine[]
  faults: readonly FaultLine[]
  watch: readonly WatchLine[]
}

export interface JobRow {
  jobId: string
  name: string
  version: number
  status: 'ACTIVE' | 'PAUSED' | 'COMPLETED' | 'DELETED'
  createdAt: number
  updatedAt: number
  partition: number
}

export interface VersionRow {
  jobId: string
  version: number
  schedule: StoredSchedule
  anchorAt: number
  url: string
  overlap: 'ALLOW' | 'SKIP' | 'BUFFER_ONE' | 'BUFFER_ALL' | 'CANCEL_RUNNING'
  misfire: 'FIRE_ONCE' | 'FIRE_ALL' | 'SKIP'
  jitterSeconds: number
  limit: number | null
  key: string | null
  keyLimit: number | null
  retries: {
    max_retries: number
    backoff: 'FIXED' | 'LINEAR' | 'EXPONENTIAL'
    initial_delay_ms: number
    max_delay_ms: number
  }
  dependsOn: readonly { job_id: string; on: string }[] | null
}

export interface StoredSchedule {
  type?: 'IMMEDIATE' | 'ONE_TIME' | 'CRON' | 'INTERVAL'
  cron_expression?: string
  timezone?: string
  scheduled_time?: string
  every_seconds?: number
}

export interface SlotRow {
  jobId: string
  slot: number
  executionId: string
  reason: string | null
}

export interface SkipRow {
  jobId: string
  from: number
  to: number
  count: number
  reason: string
  version: number
}

export interface AttemptRow {
  executionId: string
  jobId: string
  version: number
  attempt: number
  final: boolean
  kind: 'slot' | 'trigger' | 'retry' | 'redrive' | 'backfill' | 'dependency'
  outcome: 'succeeded' | 'failed' | 'timed_out' | 'lost' | 'cancelled' | 'skipped'
  slot: number
  enqueuedAt: number
  startedAt: number | null
  finishedAt: number | null
  recordedAt: number
  durationMs: number | null
  workerId: string | null
  httpStatus: number | null
  message: string | null
  deadLetter: boolean
  /** The mark in the payload of a trigger. */
  mark: string | null
  retryOf: string | null
  runId: string | null
  skipReason: string | null
}

export interface LiveRow {
  executionId: string
  jobId: string
  kind: AttemptRow['kind']
  state: string
  attempt: number
  workerId: string | null
  mark: string | null
  retryOf: string | null
}

export interface GraphRunRow {
  runId: string
  status: string
  states: string
  roles: string
  jobIds: readonly string[]
  executionIds: readonly (string | null)[]
  edges: readonly [parent: number, child: number, rule: string][]
  resumes: number
  cancelMessage: string | null
  createdAt: number
  finishedAt: number | null
}

const SELECTS = {
  jobs: `SELECT j.job_id AS "jobId", j.name, j.version, c.status, to_ms(j.created_at)::float8 AS "createdAt",
      to_ms(j.updated_at)::float8 AS "updatedAt", c.partition_id AS partition
    FROM jobs j JOIN cursors c USING (job_id)`,
  versions: `SELECT job_id AS "jobId", version, schedule, to_ms(anchor_at)::float8 AS "anchorAt",
      coalesce(execution ->> 'callback_url', '') AS url, overlap_policy AS overlap, misfire_policy AS misfire,
      jitter_seconds AS "jitterSeconds", concurrency_limit AS "limit", concurrency_key AS key,
      concurrency_key_limit AS "keyLimit", retry_policy AS retries, depends_on AS "dependsOn"
    FROM job_versions ORDER BY job_id, version`,
  slots: `SELECT job_id AS "jobId", to_ms(slot)::float8 AS slot, execution_id AS "executionId", reason FROM slots`,
  skips: `SELECT job_id AS "jobId", to_ms(from_slot)::float8 AS "from", to_ms(to_slot)::float8 AS "to",
      slot_count AS count, reason, version FROM skips ORDER BY job_id, from_slot`,
  attempts: `SELECT execution_id AS "executionId", job_id AS "jobId", version, attempt, final, kind, outcome,
      to_ms(slot)::float8 AS slot, to_ms(enqueued_at)::float8 AS "enqueuedAt", to_ms(started_at)::float8 AS "startedAt",
      to_ms(finished_at)::float8 AS "finishedAt", to_ms(recorded_at)::float8 AS "recordedAt", duration_ms AS "durationMs",
      worker_id AS "workerId", http_status AS "httpStatus", error_message AS message, dead_letter AS "deadLetter",
      payload_override ->> 'mark' AS mark, retry_of AS "retryOf", run_id AS "runId", skip_reason AS "skipReason"
    FROM attempts ORDER BY execution_id, recorded_at, attempt`,
  live: `SELECT execution_id AS "executionId", job_id AS "jobId", kind, state, attempt, worker_id AS "workerId",
      payload_override ->> 'mark' AS mark, retry_of AS "retryOf" FROM live`,
  batched: `SELECT execution_at(b.batch_id, u.place) AS "executionId", u.job_id AS "jobId", b.worker_id AS "workerId"
    FROM batches b CROSS JOIN LATERAL unnest(b.positions, b.job_ids) AS u(place, job_id)`,
  owed: `SELECT job_id AS "jobId", to_ms(from_slot)::float8 AS "from", to_ms(to_slot)::float8 AS "to" FROM catchups`,
  deadLetters: `SELECT execution_id AS "executionId", job_id AS "jobId", reason, attempts FROM dead_letters`,
  graphRuns: `SELECT run_id AS "runId", status, states, roles, job_ids AS "jobIds", execution_ids AS "executionIds", edges,
      resumes, cancel_message AS "cancelMessage", to_ms(created_at)::float8 AS "createdAt",
      to_ms(finished_at)::float8 AS "finishedAt" FROM graph_runs`,
  runNotes: `SELECT run_id AS "runId", what FROM run_notes`,
} as const
type Tables = Pick<Evidence, keyof typeof SELECTS>

export async function readEvidence(dir: string, databaseUrl: string): Promise<Evidence> {
  return {
    ...(await readTables(databaseUrl)),
    history: readLines<HistoryLine>(dir, 'history'),
    receiver: readLines<ReceiverLine>(dir, 'receiver'),
    faults: readLines<FaultLine>(dir, 'faults'),
    watch: readLines<WatchLine>(dir, 'watch'),
  }
}

/** All tables as they were at one moment; nothing can be written here. */
async function readTables(databaseUrl: string): Promise<Tables & Pick<Evidence, 'readAt' | 'partitions'>> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'carillon chaos checker' })
  await client.connect()
  try {
    await client.query('BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY')
    const tables: Record<string, unknown[]> = {}
    for (const [name, select] of Object.entries(SELECTS)) tables[name] = (await client.query(select)).rows
    const clock = await client.query<{ at: number }>('SELECT to_ms(clock_timestamp())::float8 AS at')
    const held = await client.query<{ holder: string | null }>(
      'SELECT scheduler_id AS holder FROM partitions ORDER BY partition_id',
    )
    const partitions = held.rows.map(({ holder }) => holder)
    return { ...(tables as unknown as Tables), readAt: clock.rows[0]!.at, partitions }
  } finally {
    await client.end()
  }
}
