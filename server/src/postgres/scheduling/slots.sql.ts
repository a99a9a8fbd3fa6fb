// The statements of the scheduler: load cursors, take changes, fire slots. A slot fires once because its row in
// `slots` is unique.
import { type Fragment, fragment, sql } from '../../lib/sql.ts'
import {
  calendarsOfVersion,
  isBatched,
  isLimited,
  isUnderWay,
  jobsUnderWay,
  rankOf,
} from '../sql/fragments.ts'
import { columnsOf, insertLive } from '../sql/insert.ts'

const plannedBy = fragment`
  v.tenant_id, v.schedule, v.anchor_at, v.priority, v.overlap_policy, v.misfire_policy, v.misfire_window_seconds,
  v.jitter_seconds, v.route, v.own_rows, ${isLimited} AS limited, ${calendarsOfVersion} AS calendars`

// LIMIT inside the LATERAL on job_versions keeps the planner from hashing the whole table for one window.
// $4 bounds the days of `slots` that are looked at: a recorded slot is never in the future.
export const loadCursors = sql('loadCursors')`
  SELECT c.job_id, c.partition_id, c.version, c.slot_at, c.due_at, c.runs, c.graph_id, r.slot AS recorded_at, v.*
  FROM json_to_recordset($1::json) AS p(id smallint, due float8, job uuid)
  CROSS JOIN LATERAL (
    SELECT * FROM cursors c
    WHERE c.partition_id = p.id AND c.status = 'ACTIVE' AND c.due_at IS NOT NULL AND c.due_at < from_ms($2)
      AND (c.due_at, c.job_id) > (coalesce(from_ms(p.due), '-infinity'),
        coalesce(p.job, '00000000-0000-0000-0000-000000000000'))
    ORDER BY c.due_at, c.job_id LIMIT $3
  ) c
  CROSS JOIN LATERAL (
    SELECT ${plannedBy}
    FROM job_versions v WHERE v.job_id = c.job_id AND v.version = c.version LIMIT 1
  ) v
  LEFT JOIN LATERAL (
    SELECT s.slot FROM slots s WHERE s.job_id = c.job_id AND s.slot >= c.slot_at AND s.slot < from_ms($4)
    ORDER BY s.slot DESC LIMIT 1
  ) r ON true`

// First the change records, then the cursors in a separate statement: the snapshot of a single statement could be older
// than a change record that was rewritten, and so could the job that it reads.
export const takeNotes = sql('takeNotes')`
  -- By their places, which stay what they are while the rows are locked: joined, each would be compared with each.
  DELETE FROM changes c WHERE c.ctid = ANY (ARRAY(
    SELECT n.ctid FROM changes n WHERE n.partition_id = ANY ($1::smallint[]) LIMIT $2 FOR UPDATE SKIP LOCKED
  ))
  RETURNING c.job_id`

export const loadNoted = sql('loadNoted')`
  SELECT c.job_id, c.partition_id, c.version, c.slot_at, c.due_at, c.runs, c.graph_id, r.slot AS recorded_at, v.*
  FROM unnest($1::uuid[]) AS t(job_id)
  CROSS JOIN LATERAL (
    SELECT * FROM cursors c WHERE c.job_id = t.job_id AND c.status = 'ACTIVE' AND c.slot_at IS NOT NULL LIMIT 1
  ) c
  CROSS JOIN LATERAL (
    SELECT ${plannedBy}
    FROM job_versions v WHERE v.job_id = c.job_id AND v.version = c.version LIMIT 1
  ) v
  LEFT JOIN LATERAL (
    SELECT s.slot FROM slots s WHERE s.job_id = c.job_id AND s.slot >= c.slot_at AND s.slot < from_ms($2)
    ORDER BY s.slot DESC LIMIT 1
  ) r ON true`

// First the lock, then the decision in a separate statement, which sees everything that was committed under the lock
// before: the snapshot of a single statement could be older than its locks, and miss a trigger.
// Returns the jobs that it could not lock, mostly none, and passes them to `fireFast`, which is sent right behind it
// without waiting for the answer.
export const lockCursors = sql('lockCursors')`
  WITH locked AS MATERIALIZED (
    SELECT c.job_id FROM cursors c WHERE c.job_id = ANY ($1::uuid[])
    ORDER BY c.job_id FOR NO KEY UPDATE OF c SKIP LOCKED
  )
  SELECT set_config('carillon.unlocked', coalesce(array_agg(x.job_id), '{}')::text, true) AS unlocked
  FROM unnest($1::uuid[]) AS x(job_id) WHERE x.job_id NOT IN (SELECT l.job_id FROM locked l)`

/** Locks the worker that will claim the fired executions on insert. A worker that is gone claims nothing. */
export const lockDirectWorker = sql('lockDirectWorker')`
  SELECT FROM workers WHERE worker_id = $1 FOR KEY SHARE`

// Claims, in the transaction that made them, the batches $3 on route $2 in the shared lane for worker $1, except
// batches that other work there comes before.
export const claimFired = sql('claimFired')`
  UPDATE batches b SET worker_id = w.worker_id, fence = b.fence + 1, claimed_at = m.at
  FROM (SELECT clock_ms() AS at) m CROSS JOIN (
    SELECT w.worker_id, least(
      (SELECT o.rank FROM batches o WHERE o.route = $2 AND o.lane = 'shared' AND o.worker_id IS NULL
        AND o.batch_id <> ALL ($3::uuid[]) ORDER BY o.rank LIMIT 1),
      (SELECT l.rank FROM live l WHERE l.route = $2 AND l.lane = 'shared' AND l.state = 'ready' AND l.host IS NULL
        ORDER BY l.rank LIMIT 1)
    ) AS up_to
    FROM workers w WHERE w.worker_id = $1
  ) w
  -- Made by this transaction: a batch has its row from one fire.
  WHERE b.batch_id = ANY ($3::uuid[]) AND b.route = $2 AND b.lane = 'shared' AND b.worker_id IS NULL
    AND b.rank < coalesce(w.up_to, 'infinity')
  RETURNING b.batch_id AS id, b.fence, b.lane, b.priority, to_ms(b.enqueued_at) AS enqueued_ms, to_ms(b.rank) AS rank_ms,
    b.positions::text, b.job_ids::text, b.versions::text, b.slots_ms::text, b.kind, b.payloads::text`

// now() and not the moment: known before it runs, so that days which are out of it are not even opened.
const isRecent = (from: Fragment): Fragment => fragment`
  s.slot >= coalesce(from_ms(${from}), '-infinity') AND s.slot < now() + interval '1 hour'`

/** Of jobs with a cursor that could not be locked, the ones that have no cursor. */
export const selectMissingCursors = sql('selectMissingCursors')`
  SELECT x.j AS job_id FROM json_array_elements_text($1::json) AS x(j)
  WHERE NOT EXISTS (SELECT FROM cursors c WHERE c.job_id = x.j::uuid)`

// The fast path: most slots are on time, and their jobs are no roots of graphs and count nothing. They come as arrays,
// which parse in a fraction of the time of JSON, and are checked against all conditions at once: a slot that meets them
// is fired; any other is returned by its position, for `fireSlots` to decide in the same transaction ([m] 500 jobs:
// half of the CPU). So is a job that `lockCursors` could not lock.
// Under the lock on its cursor no other transaction records a slot of the job, so the latest slot tells whether this
// one is recorded: without ON CONFLICT, which writes one more WAL record per row. A duplicate would still violate the
// unique key.
// $1 jobs, $2 versions, $3 slots, $4 when each is due, $5 executions, $6 their positions in their batches, $7 the
// numbers of these batches, $8 whether overlap is allowed, $9 whether the cursor moves, $10 and $11 to where, $12 the
// latest slot that the caller knows to be recorded; $13 batches, $14 routes, $15 lanes, $16 priorities; $17 as $2 of
// fireSlots.
export const fireFast = sql('fireFast')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), item AS MATERIALIZED (
    SELECT u.*, from_ms(u.s) AS slot
    FROM unnest($1::uuid[], $2::int[], $3::bigint[], $4::bigint[], $5::uuid[], $6::smallint[], $7::int[], $8::boolean[],
      $9::boolean[], $10::bigint[], $11::bigint[], $12::bigint[]) WITH ORDINALITY AS u(j, v, s, d, e, o, b, al, mv, ms, md, ra, n)
  ), busy AS MATERIALIZED (
    ${jobsUnderWay(fragment`$1::uuid[]`)}
  ), free AS MATERIALIZED (
    SELECT i.* FROM item i CROSS JOIN moment m JOIN cursors c ON c.job_id = i.j
    LEFT JOIN LATERAL (
      -- From the one that is known on: of those on a page of the index all that match are read, though one is asked for.
      SELECT s.slot, s.execution_id FROM slots s
      WHERE s.job_id = i.j AND s.slot >= coalesce(from_ms(i.ra), '-infinity') AND ${isRecent(fragment`$17`)}
      ORDER BY s.slot DESC LIMIT 1
    ) last ON true
    WHERE i.j NOT IN (SELECT unnest(current_setting('carillon.unlocked')::uuid[]))
      AND c.version = i.v AND c.status = 'ACTIVE' AND c.graph_id IS NULL AND NOT c.depends
      AND from_ms(i.d) <= m.at AND i.slot > coalesce(c.decided_to, '-infinity') AND i.slot > coalesce(last.slot, '-infinity')
      AND (i.al OR NOT (i.j IN (SELECT b.job_id FROM busy b)
        OR ${isBatched(fragment`i.j`, fragment`c.scattered`, fragment`last.execution_id`)}))
  ), recorded AS (
    INSERT INTO slots (job_id, slot, execution_id) SELECT j, slot, e FROM free
  ), enqueued AS (
    INSERT INTO batches (batch_id, route, lane, priority, enqueued_at, rank, positions, job_ids, versions, slots_ms)
    SELECT x.id, x.route, x.lane, x.priority, m.at, ${rankOf(fragment`m.at`, fragment`x.priority`)}, f.positions, f.job_ids,
      f.versions, f.slots_ms
    FROM (
      SELECT b, array_agg(o) AS positions, array_agg(j) AS job_ids, array_agg(v) AS versions, array_agg(s) AS slots_ms
      FROM free GROUP BY b
    ) f
    JOIN unnest($13::uuid[], $14::text[], $15::text[], $16::smallint[]) WITH ORDINALITY AS x(id, route, lane, priority, n)
      ON x.n = f.b
    CROSS JOIN moment m
  ), moved AS (
    UPDATE cursors c SET slot_at = from_ms(f.ms), due_at = from_ms(f.md), decided_to = f.slot, awaited_id = NULL,
      status = CASE WHEN f.ms IS NULL THEN 'COMPLETED' ELSE c.status END
    FROM free f WHERE f.mv AND c.job_id = f.j
  )
  SELECT i.n FROM item i WHERE i.n NOT IN (SELECT f.n FROM free f)`

// One JSON parameter, not arrays: unnest of 1,000 made the planner scan all cursors. Absent fields cost nothing.
// Scalar subqueries with a LIMIT, not EXISTS: for that the planner would hash the whole of `live`.
// bm: how many slots of the job may wait behind others; absent: none. nt: how many slots of the job come before it
// here. ro: it is a row of its own: a waiting execution is found by its job, while a position in a batch is found by
// the latest slot only. g, ru: its graph, and the graph run that it starts.
// $2: the earliest time at which to search for the latest recorded slots: only the daily partitions that may have them
// are opened ([m] 500 jobs: 3 ms of 20, with 16 days). IS TRUE: with NULL, the operand after AND would be evaluated
// too.
// Unusual slots are kept apart: most are simply fired, and every insert below would read all of them.
export const fireSlots = sql('fireSlots')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), item AS MATERIALIZED (
    SELECT x.*, from_ms(x.s) AS slot, batch_of(x.e) AS b
    FROM json_to_recordset($1::json) AS x(j uuid, v int, s float8, d float8, e uuid, o int, r text, l text, p int,
      al boolean, li boolean, ro boolean, bm int, nt int, la boolean, na float8, ow float8, op int, ps float8, si text, sk json, rm int, rc int,
      cn text[], cr int, g uuid, ru uuid, mv boolean, ms float8, md float8, mz float8, aw boolean, pf float8, pt float8)
  ), judged AS MATERIALIZED (
    SELECT i.*, c.partition_id, last.execution_id AS last_execution,
      CASE
        WHEN c.version <> i.v OR c.status <> 'ACTIVE' THEN 'stale'
        -- Others have come to depend on it, or do no more: no version of its own says so.
        WHEN c.graph_id IS DISTINCT FROM i.g OR c.depends THEN 'behind'
        WHEN i.cn IS NOT NULL AND i.cr <> (
          SELECT coalesce(sum(k.revision), 0) FROM calendars k WHERE k.tenant_id = c.tenant_id AND k.name = ANY (i.cn)
        ) THEN 'behind'
        -- A late plan that starts in what is decided or recorded and reaches further was made too early: plan anew.
        WHEN i.pf IS NOT NULL AND from_ms(i.pt) > coalesce(c.decided_to, '-infinity') AND from_ms(i.pf) <= greatest(
          c.decided_to,
          (SELECT s.slot FROM slots s WHERE s.job_id = i.j AND s.slot <= m.at AND ${isRecent(fragment`$2`)}
            ORDER BY s.slot DESC LIMIT 1)
        ) THEN 'behind'
        WHEN i.slot <= c.decided_to THEN 'decided'
        WHEN coalesce(from_ms(i.d), i.slot) > clock_timestamp() THEN 'early'
        -- Found late by a clock that is ahead by more than a scheduler's may be: what it skips or owes may not be due.
        WHEN from_ms(i.na) > clock_timestamp() + interval '1 second' THEN 'early'
        WHEN c.runs + i.rc > i.rm THEN 'behind'
        WHEN i.si IS NOT NULL THEN i.si
        WHEN i.al AND i.li IS NOT TRUE THEN 'fired'
        WHEN i.la IS TRUE AND (
          SELECT true FROM slots s WHERE s.job_id = i.j AND s.slot = i.slot AND ${isRecent(fragment`$2`)} LIMIT 1) THEN 'already_recorded'
        WHEN i.al IS NOT TRUE AND ${isUnderWay(fragment`i.j`, fragment`c.scattered`, fragment`last.execution_id`)} THEN CASE
          WHEN i.la THEN 'deferred'
          WHEN i.bm IS NOT NULL AND (SELECT count(*) FROM (
            SELECT FROM live w WHERE w.job_id = i.j AND w.state = 'waiting' AND w.kind = 'slot' LIMIT i.bm) w) < i.bm
          THEN 'buffered' ELSE 'overlap' END
        WHEN i.li THEN CASE
          WHEN i.al IS NOT TRUE OR coalesce(i.nt, 0) + (SELECT count(*) FROM (
            SELECT FROM live w WHERE w.job_id = i.j AND w.state = 'waiting' AND w.kind = 'slot' LIMIT i.bm) w) < i.bm
          THEN 'buffered' ELSE 'overlap' END
        ELSE 'fired'
      END AS answer
    FROM item i
    CROSS JOIN moment m
    JOIN cursors c ON c.job_id = i.j
    LEFT JOIN LATERAL (
      SELECT s.execution_id FROM slots s WHERE s.job_id = i.j AND s.slot <= m.at AND ${isRecent(fragment`$2`)}
      ORDER BY s.slot DESC LIMIT 1
    ) last ON i.al IS NOT TRUE
  ), inserted AS (
    INSERT INTO slots (job_id, slot, execution_id, reason)
    SELECT j, slot, CASE WHEN answer IN ('fired', 'buffered') THEN e ELSE coalesce(last_execution, e) END,
      CASE WHEN answer NOT IN ('fired', 'buffered') THEN answer END
    FROM judged WHERE answer IN ('fired', 'buffered', 'overlap', 'misfire', 'exclusion')
    ON CONFLICT DO NOTHING RETURNING job_id, slot
  ), settled AS MATERIALIZED (
    SELECT g.*, CASE
      WHEN g.answer IN ('fired', 'buffered', 'overlap', 'misfire', 'exclusion') AND n.job_id IS NULL THEN 'already_recorded'
      ELSE g.answer END AS outcome
    FROM judged g LEFT JOIN inserted n ON n.job_id = g.j AND n.slot = g.slot
  ), enqueued AS (
    INSERT INTO batches AS b (batch_id, route, lane, priority, enqueued_at, rank, positions, job_ids, versions, slots_ms)
    SELECT f.b, f.r, f.l, f.p, m.at, ${rankOf(fragment`m.at`, fragment`f.p`)}, array_agg(f.o ORDER BY f.o),
      array_agg(f.j ORDER BY f.o), array_agg(f.v ORDER BY f.o), array_agg(f.s::bigint ORDER BY f.o)
    FROM settled f CROSS JOIN moment m WHERE f.outcome = 'fired' AND f.ro IS NOT TRUE GROUP BY f.b, f.r, f.l, f.p, m.at
    -- What was plain of the batch is in it already, by this transaction. One of another has no fence to take, which fails.
    ON CONFLICT (batch_id) DO UPDATE SET fence = CASE WHEN b.xmin = pg_current_xact_id()::xid THEN b.fence END,
      positions = b.positions || excluded.positions, job_ids = b.job_ids || excluded.job_ids,
      versions = b.versions || excluded.versions, slots_ms = b.slots_ms || excluded.slots_ms
  ), unusual AS MATERIALIZED (
    SELECT * FROM settled WHERE outcome <> 'fired' OR ro OR mv OR num_nonnulls(sk, ow) > 0
  ), alone AS (
    ${insertLive(
      {
        ...columnsOf(fragment`d`, 'tenant_id', 'concurrency_key'),
        execution_id: fragment`f.e`,
        job_id: fragment`f.j`,
        version: fragment`f.v`,
        kind: fragment`'slot'`,
        state: fragment`CASE f.outcome WHEN 'fired' THEN 'ready' ELSE 'waiting' END`,
        route: fragment`f.r`,
        lane: fragment`f.l`,
        priority: fragment`f.p`,
        slot: fragment`f.slot`,
        enqueued_at: fragment`m.at`,
        key_limit: fragment`d.concurrency_key_limit`,
        run_id: fragment`f.ru`,
      },
      fragment`
        FROM unusual f
        CROSS JOIN moment m
        CROSS JOIN LATERAL (
          SELECT v.tenant_id, v.concurrency_key, v.concurrency_key_limit FROM job_versions v
          WHERE v.job_id = f.j AND v.version = f.v LIMIT 1
        ) d
        WHERE f.outcome = 'buffered' OR (f.outcome = 'fired' AND f.ro)`,
    )}
  ), by_itself AS MATERIALIZED (
    -- Skipped by itself, not as the end of a range that came with it.
    SELECT * FROM unusual WHERE outcome = 'overlap' OR (outcome = 'exclusion' AND sk IS NULL)
  ), extended AS (
    -- To a minute: with each slot it would be another entry of its index.
    UPDATE skips k SET to_slot = f.slot, slot_count = k.slot_count + 1,
      changed_at = CASE WHEN k.changed_at > m.at - interval '1 minute' THEN k.changed_at ELSE m.at END
    FROM by_itself f CROSS JOIN moment m
    WHERE k.job_id = f.j AND k.reason = f.outcome AND k.to_slot = from_ms(f.ps) AND k.version = f.v
      AND k.from_slot = (SELECT max(x.from_slot) FROM skips x WHERE x.job_id = f.j)
    RETURNING k.job_id, f.slot
  ), opened AS (
    INSERT INTO skips (job_id, from_slot, to_slot, slot_count, reason, version)
    SELECT f.j, f.slot, f.slot, 1, f.outcome, f.v FROM by_itself f
    -- Not EXISTS: the planner takes both for short and would compare each with each ([m] 500 skips: half of the fire).
    WHERE (f.j, f.slot) NOT IN (SELECT x.job_id, x.slot FROM extended x)
    ON CONFLICT DO NOTHING
  ), decided AS MATERIALIZED (
    SELECT * FROM unusual WHERE outcome NOT IN ('stale', 'behind', 'decided', 'early')
  ), missed AS (
    INSERT INTO skips (job_id, from_slot, to_slot, slot_count, reason, version)
    SELECT j, from_ms(k.f), from_ms(k.t), k.c, k.r, v
    FROM decided CROSS JOIN LATERAL json_to_recordset(sk) AS k(f float8, t float8, c int, r text)
    -- One that is only to be recorded and has its record: it is in no other range.
    WHERE sk IS NOT NULL AND NOT (si IS NOT NULL AND outcome = 'already_recorded')
    ON CONFLICT DO NOTHING
  ), owed AS (
    INSERT INTO catchups AS k (job_id, from_slot, to_slot, pace_ms, next_at)
    SELECT j, CASE outcome WHEN 'deferred' THEN slot ELSE slot + interval '1 millisecond' END, from_ms(coalesce(ow, s)),
      coalesce(op, 0), m.at + coalesce(op, 0) * interval '1 millisecond'
    FROM decided CROSS JOIN moment m WHERE outcome = 'deferred' OR ow IS NOT NULL
    ON CONFLICT (job_id) DO UPDATE SET to_slot = greatest(k.to_slot, excluded.to_slot),
      pace_ms = greatest(k.pace_ms, excluded.pace_ms)
  ), moved AS (
    UPDATE cursors c SET slot_at = CASE WHEN f.ran IS NULL OR c.runs + f.ran < f.rm THEN from_ms(f.ms) END,
      due_at = CASE WHEN f.ran IS NULL OR c.runs + f.ran < f.rm THEN from_ms(f.md) END, decided_to = from_ms(f.mz),
      runs = c.runs + coalesce(f.ran, 0), awaited_id = f.awaited,
      status = CASE WHEN c.runs + f.ran >= f.rm OR (f.ms IS NULL AND f.aw IS NOT TRUE) THEN 'COMPLETED' ELSE c.status END
    FROM (
      SELECT DISTINCT ON (j) j, ms, md, mz, aw, rm,
        CASE WHEN rm IS NOT NULL THEN CASE WHEN outcome IN ('fired', 'buffered', 'deferred') THEN rc ELSE 0 END END AS ran,
        CASE WHEN aw THEN CASE outcome WHEN 'overlap' THEN last_execution WHEN 'deferred' THEN NULL ELSE e END END AS awaited
      FROM decided WHERE mv ORDER BY j, mz DESC
    ) f
    WHERE c.job_id = f.j AND (c.decided_to IS NULL OR c.decided_to < from_ms(f.mz))
  ), noted AS (
    INSERT INTO changes (partition_id, job_id) SELECT DISTINCT partition_id, j FROM unusual WHERE outcome = 'behind'
    ON CONFLICT DO NOTHING
  )
  SELECT j AS job_id, s AS slot_ms,
    CASE outcome WHEN 'decided' THEN 'already_recorded' WHEN 'behind' THEN 'stale' ELSE outcome END AS answer
  FROM unusual WHERE outcome <> 'fired'`
