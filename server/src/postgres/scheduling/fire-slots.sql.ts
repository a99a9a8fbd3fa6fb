// The fire: a slot fires once because its row in `slots` is unique. `lockCursors` (slots.sql.ts) has locked the cursors.
import { type Fragment, fragment, sql } from '../../lib/sql.ts'
import { isBatched, isUnderWay, jobsUnderWay, rankOf } from '../sql/fragments.ts'
import { columnsOf, insertLive } from '../sql/insert.ts'
import { skipItem, slotItem } from './items.ts'

// now(), not the moment of the statement: the planner knows it before the run, so partitions of other days are not opened.
const isRecent = (from: Fragment): Fragment => fragment`
  s.slot >= coalesce(from_ms(${from}), '-infinity') AND s.slot < now() + interval '1 hour'`

// The fast path: most slots are on time, and their jobs are in no graph and have neither limits nor `max_runs`. They come as arrays,
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
    SELECT item.*, from_ms(item.slot_ms) AS slot
    FROM unnest(
      $1::uuid[], $2::int[], $3::bigint[], $4::bigint[], $5::uuid[], $6::smallint[], $7::int[],
      $8::boolean[], $9::boolean[], $10::bigint[], $11::bigint[], $12::bigint[]
    )
      WITH ORDINALITY AS item (
        job_id, version, slot_ms, due_ms, execution_id, position, batch_number, allows_overlap, moves,
        next_slot_ms, next_due_ms, recorded_ms, number
      )
  ), busy AS MATERIALIZED (${jobsUnderWay(fragment`$1::uuid[]`)}), free AS MATERIALIZED (
    SELECT item.*
    FROM item
    CROSS JOIN moment m
    JOIN cursors c ON c.job_id = item.job_id
    LEFT JOIN LATERAL (
      -- From the known recorded slot on: despite LIMIT 1, all matches on an index page are read.
      SELECT s.slot, s.execution_id
      FROM slots s
      WHERE s.job_id = item.job_id
        AND s.slot >= coalesce(from_ms(item.recorded_ms), '-infinity')
        AND ${isRecent(fragment`$17`)}
      ORDER BY s.slot DESC LIMIT 1
    ) last ON true
    WHERE item.job_id NOT IN (SELECT unnest(current_setting('carillon.unlocked')::uuid[]))
      AND c.version = item.version
      AND c.status = 'ACTIVE'
      AND c.graph_id IS NULL
      AND NOT c.depends
      AND from_ms(item.due_ms) <= m.at
      AND item.slot > coalesce(c.decided_to, '-infinity')
      AND item.slot > coalesce(last.slot, '-infinity')
      AND (
        item.allows_overlap
        OR NOT (
          item.job_id IN (SELECT busy.job_id FROM busy)
          OR ${isBatched(fragment`item.job_id`, fragment`c.scattered`, fragment`last.execution_id`)}
        )
      )
  ), recorded AS (
    INSERT INTO slots (job_id, slot, execution_id) SELECT job_id, slot, execution_id FROM free
  ), enqueued AS (
    INSERT INTO batches (
      batch_id, route, lane, priority, enqueued_at, rank, positions, job_ids, versions, slots_ms
    )
    SELECT batch.batch_id, batch.route, batch.lane, batch.priority, m.at,
      ${rankOf(fragment`m.at`, fragment`batch.priority`)}, filled.positions, filled.job_ids,
      filled.versions, filled.slots_ms
    FROM (
      SELECT batch_number, array_agg(position) AS positions, array_agg(job_id) AS job_ids,
        array_agg(version) AS versions, array_agg(slot_ms) AS slots_ms
      FROM free
      GROUP BY batch_number
    ) filled
    JOIN unnest(
      $13::uuid[], $14::text[], $15::text[], $16::smallint[]
    )
      WITH ORDINALITY AS batch(
        batch_id, route, lane, priority, number
      ) ON batch.number = filled.batch_number
    CROSS JOIN moment m
  ), moved AS (
    UPDATE cursors c
    SET slot_at = from_ms(free.next_slot_ms), due_at = from_ms(free.next_due_ms), decided_to = free.slot,
      awaited_id = NULL, status = CASE WHEN free.next_slot_ms IS NULL THEN 'COMPLETED' ELSE c.status END
    FROM free
    WHERE free.moves AND c.job_id = free.job_id
  )
  SELECT item.number
  FROM item
  WHERE item.number NOT IN (SELECT free.number FROM free)`

/** How many slots of the job of an item wait behind others, up to the most that may. */
const waitingSlots = fragment`
  (
    SELECT count(*)
    FROM (
      SELECT
      FROM live l
      WHERE l.job_id = item.job_id AND l.state = 'waiting' AND l.kind = 'slot' LIMIT item.waiting_max
    ) l
  )`

// One JSON parameter, not arrays: unnest of 1,000 made the planner scan all cursors. Absent fields cost nothing.
// Scalar subqueries with a LIMIT, not EXISTS: for that the planner would hash the whole of `live`.
// $2: the earliest time at which to search for the latest recorded slots: only the daily partitions that may have them
// are opened ([m] 500 jobs: 3 ms of 20, with 16 days). IS TRUE: with NULL, the operand after AND would be evaluated
// too.
// Unusual slots are kept apart: most are simply fired, and every insert below would read all of them.
export const fireSlots = sql('fireSlots')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), item AS MATERIALIZED (
    SELECT ${slotItem.named(fragment`wire`)}, from_ms(wire.s) AS slot, batch_of(wire.e) AS batch_id
    FROM json_to_recordset($1::json) AS wire(${slotItem.columns})
  ), judged AS MATERIALIZED (
    SELECT item.*, c.partition_id, last.execution_id AS last_execution_id,
      CASE
        WHEN c.version <> item.version OR c.status <> 'ACTIVE' THEN 'stale'
        -- Other jobs began or ceased to depend on this job, which does not change its version.
        WHEN c.graph_id IS DISTINCT FROM item.graph_id OR c.depends THEN 'behind'
        WHEN item.calendar_names IS NOT NULL
          AND item.calendar_revision <> (
            SELECT coalesce(sum(calendar.revision), 0)
            FROM calendars calendar
            WHERE calendar.tenant_id = c.tenant_id AND calendar.name = ANY (item.calendar_names)
          ) THEN 'behind'
        -- A late plan that starts among decided or recorded slots and reaches further was made too early.
        WHEN item.plan_from_ms IS NOT NULL
          AND from_ms(item.plan_to_ms) > coalesce(c.decided_to, '-infinity')
          AND from_ms(item.plan_from_ms) <= greatest(
            c.decided_to, (
              SELECT s.slot
              FROM slots s
              WHERE s.job_id = item.job_id AND s.slot <= m.at AND ${isRecent(fragment`$2`)}
              ORDER BY s.slot DESC LIMIT 1
            )
          ) THEN 'behind'
        WHEN item.slot <= c.decided_to THEN 'decided'
        WHEN coalesce(from_ms(item.due_ms), item.slot) > clock_timestamp() THEN 'early'
        -- Found late by a clock that is too far ahead: the slots that it skips or owes may not be due.
        WHEN from_ms(item.planned_ms) > clock_timestamp() + interval '1 second' THEN 'early'
        WHEN c.runs + item.run_count > item.runs_max THEN 'behind'
        WHEN item.skip_reason IS NOT NULL THEN item.skip_reason
        WHEN item.allows_overlap AND item.limited IS NOT TRUE THEN 'fired'
        WHEN item.late IS TRUE
          AND (
            SELECT true
            FROM slots s
            WHERE s.job_id = item.job_id AND s.slot = item.slot AND ${isRecent(fragment`$2`)} LIMIT 1
          ) THEN 'already_recorded'
        WHEN item.allows_overlap IS NOT TRUE
          AND ${isUnderWay(fragment`item.job_id`, fragment`c.scattered`, fragment`last.execution_id`)}
          THEN CASE
            WHEN item.late THEN 'deferred'
            WHEN (SELECT k.joined < item.joined_max FROM catchups k WHERE k.job_id = item.job_id LIMIT 1)
              THEN 'deferred'
            WHEN item.waiting_max IS NOT NULL AND ${waitingSlots} < item.waiting_max THEN 'buffered'
            ELSE 'overlap'
          END
        WHEN item.limited THEN CASE
            WHEN item.allows_overlap IS NOT TRUE
              OR coalesce(item.slots_before, 0) + ${waitingSlots} < item.waiting_max
              THEN 'buffered'
            ELSE 'overlap'
          END
        ELSE 'fired'
      END AS answer
    FROM item
    CROSS JOIN moment m
    JOIN cursors c ON c.job_id = item.job_id
    LEFT JOIN LATERAL (
      SELECT s.execution_id
      FROM slots s
      WHERE s.job_id = item.job_id AND s.slot <= m.at AND ${isRecent(fragment`$2`)}
      ORDER BY s.slot DESC LIMIT 1
    ) last ON item.allows_overlap IS NOT TRUE
  ), inserted AS (
    INSERT INTO slots (job_id, slot, execution_id, reason)
    SELECT job_id, slot,
      CASE
        WHEN answer IN ('fired', 'buffered') THEN execution_id
        ELSE coalesce(last_execution_id, execution_id)
      END,
      CASE WHEN answer NOT IN ('fired', 'buffered') THEN answer END
    FROM judged
    WHERE answer IN ('fired', 'buffered', 'overlap', 'misfire', 'exclusion', 'quota')
    ON CONFLICT DO NOTHING
    RETURNING job_id, slot
  ), settled AS MATERIALIZED (
    SELECT judged.*,
      CASE
        WHEN judged.answer IN ('fired', 'buffered', 'overlap', 'misfire', 'exclusion', 'quota')
          AND inserted.job_id IS NULL
          THEN 'already_recorded'
        ELSE judged.answer
      END AS outcome
    FROM judged
    LEFT JOIN inserted ON inserted.job_id = judged.job_id AND inserted.slot = judged.slot
  ), enqueued AS (
    INSERT INTO batches AS b (
      batch_id, route, lane, priority, enqueued_at, rank, positions, job_ids, versions, slots_ms
    )
    SELECT settled.batch_id, settled.route, settled.lane, settled.priority, m.at,
      ${rankOf(fragment`m.at`, fragment`settled.priority`)},
      array_agg(settled.position ORDER BY settled.position),
      array_agg(settled.job_id ORDER BY settled.position),
      array_agg(settled.version ORDER BY settled.position),
      array_agg(settled.slot_ms::bigint ORDER BY settled.position)
    FROM settled
    CROSS JOIN moment m
    WHERE settled.outcome = 'fired' AND settled.own_row IS NOT TRUE
    GROUP BY settled.batch_id, settled.route, settled.lane, settled.priority, m.at
    -- The fast path of this transaction may have made the batch. For a batch of another transaction the fence becomes
    -- NULL, which fails the statement.
    ON CONFLICT (batch_id) DO UPDATE SET
      fence = CASE WHEN b.xmin = pg_current_xact_id()::xid THEN b.fence END,
      positions = b.positions || excluded.positions, job_ids = b.job_ids || excluded.job_ids,
      versions = b.versions || excluded.versions, slots_ms = b.slots_ms || excluded.slots_ms
  ), unusual AS MATERIALIZED (
    SELECT *
    FROM settled
    WHERE outcome <> 'fired' OR own_row OR moves OR num_nonnulls(skipped, owed_to_ms) > 0
      OR (late AND joined_max IS NOT NULL)
  ), alone AS (
    ${insertLive(
      {
        ...columnsOf(fragment`v`, 'tenant_id', 'concurrency_key'),
        ...columnsOf(
          fragment`unusual`,
          'execution_id',
          'job_id',
          'version',
          'route',
          'lane',
          'priority',
          'slot',
          'run_id',
        ),
        kind: fragment`'slot'`,
        state: fragment`CASE unusual.outcome WHEN 'fired' THEN 'ready' ELSE 'waiting' END`,
        enqueued_at: fragment`m.at`,
        key_limit: fragment`v.concurrency_key_limit`,
        host: fragment`CASE WHEN unusual.held_back THEN 'quota' END`,
        // A buffered slot waits for others first, as long as it takes.
        skip_at: fragment`CASE unusual.outcome WHEN 'fired' THEN from_ms(unusual.skip_ms) END`,
      },
      fragment`
        FROM unusual
        CROSS JOIN moment m
        CROSS JOIN LATERAL (
          SELECT v.tenant_id, v.concurrency_key, v.concurrency_key_limit
          FROM job_versions v
          WHERE v.job_id = unusual.job_id AND v.version = unusual.version LIMIT 1
        ) v
        WHERE unusual.outcome = 'buffered' OR (unusual.outcome = 'fired' AND unusual.own_row)`,
    )}
  ), by_itself AS MATERIALIZED (
    -- Slots that were skipped singly, not as the end of a range in skipped.
    SELECT *
    FROM unusual
    WHERE outcome IN ('overlap', 'quota') OR (outcome = 'exclusion' AND skipped IS NULL)
  ), extended AS (
    -- changed_at moves once a minute at most: each change is one more entry of its index.
    UPDATE skips skip
    SET to_slot = by_itself.slot, slot_count = skip.slot_count + 1,
      changed_at = CASE WHEN skip.changed_at > m.at - interval '1 minute' THEN skip.changed_at ELSE m.at END
    FROM by_itself
    CROSS JOIN moment m
    WHERE skip.job_id = by_itself.job_id
      AND skip.reason = by_itself.outcome
      AND skip.to_slot = from_ms(by_itself.previous_slot_ms)
      AND skip.version = by_itself.version
      AND skip.from_slot = (
        SELECT max(latest.from_slot) FROM skips latest WHERE latest.job_id = by_itself.job_id
      )
    RETURNING skip.job_id, by_itself.slot
  ), opened AS (
    INSERT INTO skips (job_id, from_slot, to_slot, slot_count, reason, version)
    SELECT by_itself.job_id, by_itself.slot, by_itself.slot, 1, by_itself.outcome, by_itself.version
    FROM by_itself
    -- Not EXISTS: the planner would take both for short and compare each with each
    -- ([m] 500 skips: half of the fire).
    WHERE (by_itself.job_id, by_itself.slot) NOT IN (SELECT extended.job_id, extended.slot FROM extended)
    ON CONFLICT DO NOTHING
  ), decided AS MATERIALIZED (
    SELECT * FROM unusual WHERE outcome NOT IN ('stale', 'behind', 'decided', 'early')
  ), missed AS (
    INSERT INTO skips (job_id, from_slot, to_slot, slot_count, reason, version)
    SELECT decided.job_id, from_ms(skip.from_ms), from_ms(skip.to_ms), skip.slot_count, skip.reason,
      decided.version
    FROM decided
    CROSS JOIN LATERAL (
      SELECT ${skipItem.named(fragment`wire`)}
      FROM json_to_recordset(decided.skipped) AS wire(${skipItem.columns})
    ) skip
    -- Not for a skip-only slot that is already recorded: it must not be in a range as well.
    WHERE skipped IS NOT NULL AND NOT (skip_reason IS NOT NULL AND outcome = 'already_recorded')
    ON CONFLICT DO NOTHING
  ), owed AS (
    -- A late slot that fires with no slot owed after it begins a catch-up too, with an empty range.
    INSERT INTO catchups AS catchup (job_id, from_slot, to_slot, pace_ms, next_at, joined)
    SELECT job_id, CASE outcome WHEN 'deferred' THEN slot ELSE slot + interval '1 millisecond' END,
      from_ms(coalesce(owed_to_ms, slot_ms)), coalesce(owed_pace_ms, 0),
      m.at + coalesce(owed_pace_ms, 0) * interval '1 millisecond',
      CASE WHEN outcome = 'deferred' AND late IS NOT TRUE THEN 1 ELSE 0 END
    FROM decided
    CROSS JOIN moment m
    WHERE outcome = 'deferred'
      OR owed_to_ms IS NOT NULL
      OR (late AND joined_max IS NOT NULL AND outcome IN ('fired', 'buffered'))
    ON CONFLICT (job_id) DO UPDATE SET
      from_slot = CASE
        WHEN catchup.from_slot > catchup.to_slot THEN excluded.from_slot
        ELSE catchup.from_slot
      END,
      to_slot = greatest(catchup.to_slot, excluded.to_slot),
      pace_ms = greatest(catchup.pace_ms, excluded.pace_ms), joined = catchup.joined + excluded.joined
  ), moved AS (
    UPDATE cursors c
    SET
      slot_at = CASE
        WHEN latest.ran IS NULL OR c.runs + latest.ran < latest.runs_max THEN from_ms(latest.next_slot_ms)
      END,
      due_at = CASE
        WHEN latest.ran IS NULL OR c.runs + latest.ran < latest.runs_max THEN from_ms(latest.next_due_ms)
      END,
      decided_to = from_ms(latest.decided_to_ms), runs = c.runs + coalesce(latest.ran, 0),
      awaited_id = latest.awaited_id,
      status = CASE
        WHEN c.runs + latest.ran >= latest.runs_max
          OR (latest.next_slot_ms IS NULL AND latest.awaits IS NOT TRUE)
          THEN 'COMPLETED'
        ELSE c.status
      END
    FROM (
      SELECT DISTINCT ON (job_id) job_id, next_slot_ms, next_due_ms, decided_to_ms, awaits, runs_max,
        CASE
          WHEN runs_max IS NOT NULL
            THEN CASE WHEN outcome IN ('fired', 'buffered', 'deferred') THEN run_count ELSE 0 END
        END AS ran,
        CASE
          WHEN awaits THEN CASE outcome
              WHEN 'overlap' THEN last_execution_id
              WHEN 'deferred' THEN NULL
              ELSE execution_id
            END
        END AS awaited_id
      FROM decided
      -- A slot that joins has no record yet: without the move a restart would decide about it once more.
      WHERE moves OR (joined_max IS NOT NULL AND outcome = 'deferred')
      ORDER BY job_id, decided_to_ms DESC
    ) latest
    WHERE c.job_id = latest.job_id
      AND (c.decided_to IS NULL OR c.decided_to < from_ms(latest.decided_to_ms))
  ), noted AS (
    INSERT INTO changes (partition_id, job_id)
    SELECT DISTINCT partition_id, job_id
    FROM unusual
    WHERE outcome = 'behind'
    ON CONFLICT DO NOTHING
  )
  SELECT job_id, slot_ms,
    CASE outcome
      WHEN 'decided' THEN 'already_recorded'
      WHEN 'behind' THEN 'stale'
      ELSE outcome
    END AS answer
  FROM unusual
  WHERE outcome <> 'fired'`
