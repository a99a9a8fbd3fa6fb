// The tables of jobs and of the requests that change them, in words. See tables.ts.
import type { TableNote } from './tables.ts'

export const jobTables: readonly TableNote[] = [
  {
    table: 'jobs',
    purpose: 'One row a job: its current version, and the fields that lists search and filter by.',
    growth: 'one row a job, up to millions',
    retention: 'for ever; a deleted job keeps its row with deleted_at',
    columns: {
      key: "the user's own name for the job, unique among undeleted jobs of the tenant",
      search: 'name, key and tags in lower case',
      resume_at: 'when a pause ends by itself',
    },
  },
  {
    table: 'active_jobs',
    purpose:
      'How many active jobs a tenant with a limit on them has. Locked by each change that makes one active.',
    growth: 'one row a tenant with a limit',
    retention: 'for ever',
    columns: { counted_at: 'when the jobs were last counted; since then `used` follows the changes' },
  },
  {
    table: 'storage_usage',
    purpose:
      'The bytes that a tenant with a limit on storage stores besides logs. Locked for a moment by a process that draws a slice.',
    growth: 'one row a tenant with a limit',
    retention: 'for ever',
    columns: {
      drawn_bytes: 'slices that processes took since the count began',
      counted_at: 'when the other columns were counted',
      count_ms: 'how long that took: a count is not taken more often than it is cheap',
      counting_at: 'when a count began that has not ended; after a minute it was given up',
    },
  },
  {
    table: 'job_versions',
    purpose: 'Every definition that a job has had. json, not jsonb: a payload is sent byte for byte.',
    growth: 'one row an edit',
    retention:
      'the current one for ever; whole while an execution names it; else without payload until the history retention, at most 10,000 a job, and while a skip names it',
    columns: {
      anchor_at: 'the instant from which an interval is counted',
      route: 'the workers that may claim its executions: see domain/queue/route.ts',
      own_rows: 'its executions are rows of live from the start, never positions of a batch',
      timeout_seconds: 'a column of its own because every claim reads it',
      calendars: 'the calendars that its exclusions name',
      depends_on: '[{"job_id": …, "on": …}, …]; null: it depends on nothing',
      lean_execution:
        'the execution without its payload, for lists; null: it has none, or an older program wrote it',
      payload_bytes:
        'the length of the payload as JSON; 0: there is none; null: an older program wrote the version',
      implied_dst:
        'the fields of schedule that nobody gave; null: an older program wrote the version, see domain/jobs/clock-rule.ts',
      created_at: 'null: the first version, made with the job, or one older than migration 11',
      pruned_at: 'its payload, metadata and description were dropped: see domain/jobs/kept-versions.ts',
    },
  },
  {
    table: 'version_notes',
    purpose: 'Jobs whose versions maintenance looks at, to prune the ones that nothing names.',
    growth: 'one row a job with earlier versions, or deleted',
    retention: 'until nothing of the job is left to prune',
    columns: {
      after_version: 'the look goes on behind it',
      due_at: 'since when; after a look a day later, until the next change',
    },
  },
  {
    table: 'calendars',
    purpose: 'Days and windows in which slots are skipped, by name.',
    growth: 'at most 1,000 a tenant',
    retention: 'until deleted by its tenant',
    columns: { revision: 'grows with each change: a slot planned with an older revision is planned again' },
  },
  {
    table: 'operations',
    purpose: 'A request that takes many transactions (pause all, redrive all, backfill), and its progress.',
    growth: 'at most 20 running a tenant',
    retention: '7 days after its end',
    columns: {
      after: 'how far it is: an id, or an instant for a backfill',
      next_at: 'when it goes on; null: it has ended',
      failures: 'steps that failed in a row',
    },
  },
  {
    table: 'idempotency_keys',
    purpose: 'The answer to a request that carried an idempotency key, written with its effect.',
    growth: 'one row a keyed request',
    retention: '24 hours',
    columns: { fingerprint: 'hash of the request: the same key with another body is refused' },
  },
  {
    table: 'artifacts',
    purpose: 'Uploaded bundles of code, compressed, that the artifact executor runs.',
    growth: 'at most 100 a tenant',
    retention: 'until deleted by its tenant',
  },
]
