// The statements of the scheduler around a fire: load cursors, take changes, lock cursors, claim on insert. The fire
// itself is in fire-slots.sql.ts.
import { type Fragment, fragment, sql } from '../../lib/sql.ts'
import { isOfUndeletedTenant } from '../sql/deleted-tenants.ts'
import { calendarsOfVersion, firstRank, isLimited } from '../sql/fragments.ts'
import { cursorItem } from './items.ts'

const cursor = fragment`
  c.job_id, c.partition_id, c.version, c.slot_at, c.due_at, c.runs, c.graph_id,
  recorded.slot AS recorded_at, v.*`

// The version of a cursor (c), and its latest recorded slot. LIMIT inside the LATERAL on job_versions keeps the planner
// from hashing the whole table for one window. `until` bounds the days of `slots` that are looked at: a recorded slot is
// never in the future.
const versionAndRecord = (until: Fragment): Fragment => fragment`
  CROSS JOIN LATERAL (
    SELECT v.tenant_id, v.schedule, v.anchor_at, v.priority, v.overlap_policy, v.misfire_policy,
      v.misfire_window_seconds, v.jitter_seconds, v.route, v.own_rows, ${isLimited} AS limited,
      ${calendarsOfVersion} AS calendars
    FROM job_versions v
    WHERE v.job_id = c.job_id AND v.version = c.version LIMIT 1
  ) v
  LEFT JOIN LATERAL (
    SELECT s.slot
    FROM slots s
    WHERE s.job_id = c.job_id AND s.slot >= c.slot_at AND s.slot < from_ms(${until})
    ORDER BY s.slot DESC LIMIT 1
  ) recorded ON true`

// $1 partitions, $2 due before, $3 the most cursors a partition, $4 no slot is recorded after this.
export const loadCursors = sql('loadCursors')`
  SELECT ${cursor}
  FROM json_to_recordset($1::json) AS asked(${cursorItem.columns})
  CROSS JOIN LATERAL (
    SELECT *
    FROM cursors c
    WHERE c.partition_id = asked.partition_id
      AND c.status = 'ACTIVE'
      AND c.due_at IS NOT NULL
      AND c.due_at < from_ms($2)
      AND (c.due_at, c.job_id) > (
        coalesce(from_ms(asked.after_due_ms), '-infinity'),
        coalesce(asked.after_job_id, '00000000-0000-0000-0000-000000000000')
      )
    ORDER BY c.due_at, c.job_id LIMIT $3
  ) c ${versionAndRecord(fragment`$4`)}`

// First the change records, then the cursors in a separate statement: the snapshot of a single statement could be older
// than a change record that was rewritten, and so could the job that it reads.
export const takeNotes = sql('takeNotes')`
  -- By ctid, which cannot change while the rows are locked: a join would compare each row with each.
  DELETE FROM changes change
  WHERE change.ctid = ANY (ARRAY(
    SELECT waiting.ctid
    FROM changes waiting
    WHERE waiting.partition_id = ANY ($1::smallint[]) LIMIT $2 FOR UPDATE SKIP LOCKED
  ))
  RETURNING change.job_id`

export const loadNoted = sql('loadNoted')`
  SELECT ${cursor}
  FROM unnest($1::uuid[]) AS changed(job_id)
  CROSS JOIN LATERAL (
    SELECT *
    FROM cursors c
    WHERE c.job_id = changed.job_id AND c.status = 'ACTIVE' AND c.slot_at IS NOT NULL LIMIT 1
  ) c ${versionAndRecord(fragment`$2`)}`

// First the lock, then the decision in a separate statement, which sees everything that was committed under the lock
// before: the snapshot of a single statement could be older than its locks, and miss a trigger.
// Returns the jobs that it could not lock, mostly none, and passes them to `fireFast`, which is sent right behind it
// without waiting for the answer. A job of a deleted tenant is as one that others have locked: nothing of it fires.
export const lockCursors = sql('lockCursors')`
  WITH locked AS MATERIALIZED (
    SELECT c.job_id
    FROM cursors c
    WHERE c.job_id = ANY ($1::uuid[]) AND ${isOfUndeletedTenant(fragment`c.tenant_id`)}
    ORDER BY c.job_id FOR NO KEY UPDATE OF c SKIP LOCKED
  )
  SELECT set_config('carillon.unlocked', coalesce(array_agg(asked.job_id), '{}')::text, true) AS unlocked
  FROM unnest($1::uuid[]) AS asked(job_id)
  WHERE asked.job_id NOT IN (SELECT locked.job_id FROM locked)`

/** Locks the worker that will claim the fired executions on insert. A worker that is gone claims nothing. */
export const lockDirectWorker = sql('lockDirectWorker')`
  SELECT FROM workers WHERE worker_id = $1 FOR KEY SHARE`

// Claims, in the transaction that made them, the batches $3 on route $2 in the shared lane for worker $1, except
// batches that other work there comes before.
export const claimFired = sql('claimFired')`
  UPDATE batches b
  SET worker_id = w.worker_id, fence = b.fence + 1, claimed_at = m.at
  FROM (SELECT clock_ms() AS at) m
  CROSS JOIN (
    SELECT w.worker_id, ${firstRank(fragment`$2`, fragment`b.batch_id <> ALL ($3::uuid[])`)} AS up_to
    FROM workers w
    WHERE w.worker_id = $1
  ) w
  -- Made by this transaction: a batch has its row from one fire.
  WHERE b.batch_id = ANY ($3::uuid[])
    AND b.route = $2
    AND b.lane = 'shared'
    AND b.worker_id IS NULL
    AND b.rank < coalesce(w.up_to, 'infinity')
  RETURNING b.batch_id AS id, b.fence, b.lane, b.priority, to_ms(b.enqueued_at) AS enqueued_ms,
    to_ms(b.rank) AS rank_ms, b.positions::text, b.job_ids::text, b.versions::text, b.slots_ms::text,
    b.kind, b.payloads::text`

/** Among jobs whose cursor could not be locked: the jobs that have no cursor at all, or are of a deleted tenant. */
export const selectMissingCursors = sql('selectMissingCursors')`
  SELECT asked.job_id
  FROM json_array_elements_text($1::json) AS asked(job_id)
  WHERE NOT EXISTS (
    SELECT
    FROM cursors c
    WHERE c.job_id = asked.job_id::uuid AND ${isOfUndeletedTenant(fragment`c.tenant_id`)}
  )`
