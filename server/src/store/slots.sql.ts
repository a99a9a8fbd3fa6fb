// The statements of the scheduler: load cursors, take changes, fire slots. A slot fires once because its row in
// `slots` is unique.
import { sql } from '../lib/sql.ts'

// LIMIT inside the LATERAL on job_versions keeps the planner from hashing the whole table for one window.
// $4 bounds the days of `slots` that are looked at: a recorded slot is never in the future.
export const loadCursors = sql('loadCursors')`
  SELECT c.job_id, c.partition_id, c.version, c.slot_at, c.due_at, r.slot AS recorded_at, v.*
  FROM json_to_recordset($1::json) AS p(id smallint, due float8, job uuid)
  CROSS JOIN LATERAL (
    SELECT * FROM cursors c
    WHERE c.partition_id = p.id AND c.status = 'ACTIVE' AND c.due_at IS NOT NULL AND c.due_at < from_ms($2)
      AND (c.due_at, c.job_id) > (coalesce(from_ms(p.due), '-infinity'),
        coalesce(p.job, '00000000-0000-0000-0000-000000000000'))
    ORDER BY c.due_at, c.job_id LIMIT $3
  ) c
  CROSS JOIN LATERAL (
    SELECT v.tenant_id, v.schedule, v.anchor_at, v.priority, v.overlap_policy, v.misfire_window_seconds
    FROM job_versions v WHERE v.job_id = c.job_id AND v.version = c.version LIMIT 1
  ) v
  LEFT JOIN LATERAL (
    SELECT s.slot FROM slots s WHERE s.job_id = c.job_id AND s.slot >= c.slot_at AND s.slot < from_ms($4)
    ORDER BY s.slot DESC LIMIT 1
  ) r ON true`

// First the notes, then the cursors in a statement of its own: one statement's snapshot could be older than a note
// that was written anew, and what it would read of the job too.
export const takeNotes = sql('takeNotes')`
  WITH noted AS MATERIALIZED (
    SELECT partition_id, job_id FROM changes WHERE partition_id = ANY ($1::smallint[])
    LIMIT $2 FOR UPDATE SKIP LOCKED
  )
  DELETE FROM changes c USING noted n WHERE c.partition_id = n.partition_id AND c.job_id = n.job_id
  RETURNING c.job_id`

export const loadNoted = sql('loadNoted')`
  SELECT c.job_id, c.partition_id, c.version, c.slot_at, c.due_at, r.slot AS recorded_at, v.*
  FROM unnest($1::uuid[]) AS t(job_id)
  CROSS JOIN LATERAL (
    SELECT * FROM cursors c WHERE c.job_id = t.job_id AND c.status = 'ACTIVE' AND c.slot_at IS NOT NULL LIMIT 1
  ) c
  CROSS JOIN LATERAL (
    SELECT v.tenant_id, v.schedule, v.anchor_at, v.priority, v.overlap_policy, v.misfire_window_seconds
    FROM job_versions v WHERE v.job_id = c.job_id AND v.version = c.version LIMIT 1
  ) v
  LEFT JOIN LATERAL (
    SELECT s.slot FROM slots s WHERE s.job_id = c.job_id AND s.slot >= c.slot_at AND s.slot < from_ms($2)
    ORDER BY s.slot DESC LIMIT 1
  ) r ON true`

// First the lock, then the decision in a statement of its own, which sees everything that was committed under the
// lock before: one statement's snapshot could be older than its locks, and miss a trigger.
export const lockCursors = sql('lockCursors')`
  SELECT c.job_id FROM cursors c
  WHERE c.job_id IN (SELECT j::uuid FROM json_array_elements_text($1::json) AS x(j))
  ORDER BY c.job_id FOR NO KEY UPDATE OF c SKIP LOCKED`

/** Of jobs whose cursor could not be locked: those that have none. */
export const selectMissingCursors = sql('selectMissingCursors')`
  SELECT x.j AS job_id FROM json_array_elements_text($1::json) AS x(j)
  WHERE NOT EXISTS (SELECT FROM cursors c WHERE c.job_id = x.j::uuid)`

// One JSON parameter, not arrays: unnest of 1,000 made the planner scan all cursors. Absent fields cost nothing.
// Scalar subqueries with a LIMIT, not EXISTS: the planner would hash the whole of `live` for it.
export const fireSlots = sql('fireSlots')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), item AS MATERIALIZED (
    SELECT x.*, from_ms(x.s) AS slot, batch_of(x.e) AS b
    FROM json_to_recordset($1::json) AS x(j uuid, v int, s float8, d float8, e uuid, o int, r text, l text, p int,
      al boolean, la boolean, ow float8, ps float8, mi boolean, mf float8, mt float8, mc int, mv boolean, ms float8,
      md float8, mz float8, pf float8, pt float8)
  ), judged AS MATERIALIZED (
    SELECT i.*, c.partition_id, last.execution_id AS last_execution,
      CASE
        WHEN c.version <> i.v OR c.status <> 'ACTIVE' THEN 'stale'
        -- A late plan that starts in what is decided or recorded and reaches further was made too early: plan anew.
        WHEN i.pf IS NOT NULL AND from_ms(i.pt) > coalesce(c.decided_to, '-infinity') AND from_ms(i.pf) <= greatest(
          c.decided_to,
          (SELECT s.slot FROM slots s WHERE s.job_id = i.j AND s.slot <= m.at ORDER BY s.slot DESC LIMIT 1)
        ) THEN 'behind'
        WHEN i.slot <= c.decided_to THEN 'decided'
        WHEN coalesce(from_ms(i.d), i.slot) > clock_timestamp() THEN 'early'
        WHEN i.mi THEN 'misfire'
        WHEN i.al THEN 'fired'
        WHEN coalesce(i.la, false) AND (SELECT true FROM slots s WHERE s.job_id = i.j AND s.slot = i.slot LIMIT 1) THEN 'taken'
        WHEN coalesce(
          (SELECT true FROM live l WHERE l.job_id = i.j LIMIT 1),
          (SELECT true FROM batches b WHERE b.batch_id = batch_of(last.execution_id) AND i.j = ANY (b.job_ids) LIMIT 1),
          CASE WHEN c.scattered THEN (SELECT true FROM batches b WHERE b.job_ids @> ARRAY[i.j] LIMIT 1) END,
          (SELECT true FROM catchups k WHERE k.job_id = i.j LIMIT 1)
        ) THEN CASE WHEN i.la THEN 'owed' ELSE 'overlap' END
        ELSE 'fired'
      END AS answer
    FROM item i
    CROSS JOIN moment m
    JOIN cursors c ON c.job_id = i.j
    LEFT JOIN LATERAL (
      SELECT s.execution_id FROM slots s WHERE s.job_id = i.j AND s.slot <= m.at ORDER BY s.slot DESC LIMIT 1
    ) last ON i.al IS NOT TRUE
  ), inserted AS (
    INSERT INTO slots (job_id, slot, execution_id, reason)
    SELECT j, slot, CASE answer WHEN 'fired' THEN e ELSE coalesce(last_execution, e) END, nullif(answer, 'fired')
    FROM judged WHERE answer IN ('fired', 'overlap', 'misfire')
    ON CONFLICT DO NOTHING RETURNING job_id, slot
  ), settled AS MATERIALIZED (
    SELECT g.*, CASE WHEN g.answer IN ('fired', 'overlap', 'misfire') AND n.job_id IS NULL THEN 'taken' ELSE g.answer END AS outcome
    FROM judged g LEFT JOIN inserted n ON n.job_id = g.j AND n.slot = g.slot
  ), enqueued AS (
    INSERT INTO batches (batch_id, route, lane, priority, enqueued_at, rank, positions, job_ids, versions, slots_ms)
    SELECT f.b, f.r, f.l, f.p, m.at, m.at + f.p * interval '60 seconds', array_agg(f.o ORDER BY f.o),
      array_agg(f.j ORDER BY f.o), array_agg(f.v ORDER BY f.o), array_agg(f.s::bigint ORDER BY f.o)
    FROM settled f CROSS JOIN moment m WHERE f.outcome = 'fired' GROUP BY f.b, f.r, f.l, f.p, m.at
  ), extended AS (
    UPDATE skips k SET to_slot = f.slot, slot_count = k.slot_count + 1
    FROM settled f
    WHERE f.outcome = 'overlap' AND k.job_id = f.j AND k.reason = 'overlap' AND k.to_slot = from_ms(f.ps)
      AND k.version = f.v AND k.from_slot = (SELECT max(x.from_slot) FROM skips x WHERE x.job_id = f.j)
    RETURNING k.job_id
  ), opened AS (
    INSERT INTO skips (job_id, from_slot, to_slot, slot_count, reason, version)
    SELECT f.j, f.slot, f.slot, 1, 'overlap', f.v FROM settled f
    WHERE f.outcome = 'overlap' AND NOT EXISTS (SELECT FROM extended x WHERE x.job_id = f.j)
    ON CONFLICT DO NOTHING
  ), decided AS MATERIALIZED (
    SELECT * FROM settled WHERE outcome NOT IN ('stale', 'behind', 'decided', 'early')
  ), missed AS (
    INSERT INTO skips (job_id, from_slot, to_slot, slot_count, reason, version)
    SELECT j, from_ms(mf), from_ms(mt), mc, 'misfire', v FROM decided WHERE mc IS NOT NULL
    ON CONFLICT DO NOTHING
  ), owed AS (
    INSERT INTO catchups AS k (job_id, from_slot, to_slot)
    SELECT j, CASE outcome WHEN 'owed' THEN slot ELSE slot + interval '1 millisecond' END, from_ms(coalesce(ow, s))
    FROM decided WHERE outcome = 'owed' OR ow IS NOT NULL
    ON CONFLICT (job_id) DO UPDATE SET to_slot = greatest(k.to_slot, excluded.to_slot)
  ), moved AS (
    UPDATE cursors c SET slot_at = from_ms(f.ms), due_at = from_ms(f.md), decided_to = from_ms(f.mz),
      status = CASE WHEN f.ms IS NULL THEN 'COMPLETED' ELSE c.status END
    FROM (SELECT DISTINCT ON (j) j, ms, md, mz FROM decided WHERE mv ORDER BY j, mz DESC) f
    WHERE c.job_id = f.j AND (c.decided_to IS NULL OR c.decided_to < from_ms(f.mz))
  ), noted AS (
    INSERT INTO changes (partition_id, job_id) SELECT DISTINCT partition_id, j FROM settled WHERE outcome = 'behind'
    ON CONFLICT DO NOTHING
  )
  SELECT j AS job_id, s AS slot_ms,
    CASE outcome WHEN 'decided' THEN 'taken' WHEN 'behind' THEN 'stale' ELSE outcome END AS answer
  FROM settled WHERE outcome <> 'fired'`
