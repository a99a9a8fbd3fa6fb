// The fate of the slots of a job: their executions, by slot, and the skipped ranges. Rows of `slots` are kept for some
// days (daily-partitions.ts). Older slots are found among the attempts, in the order of execution ids, which is nearly
// the order of slots: an id is made at or after its slot, rarely much later.
import { type Fragment, fragment, sql } from '../../lib/sql.ts'

// $1 job, $2 from, $3 to, $4 limit, $5 tenant, $6 attempts to look at, $7 how much later than its slot one is made.

/** Since then every slot has its row. */
const kept = fragment`(now() - interval '2 days')`
const asksForOld = fragment`from_ms($2) < ${kept}`

const ofJob = fragment`
  SELECT now() - tier.history_days * interval '1 day' AS since, catchup.from_slot AS owed_from,
    catchup.to_slot AS owed_to, (
      SELECT s.slot
      FROM slots s
      WHERE s.job_id = $1 AND s.slot < now() + interval '1 hour'
      ORDER BY s.slot DESC LIMIT 1
    ) AS recorded_at
  FROM jobs j
  JOIN tenants t ON t.tenant_id = j.tenant_id
  JOIN tiers tier ON tier.tier = t.tier
  LEFT JOIN catchups catchup ON catchup.job_id = j.job_id AND catchup.from_slot <= catchup.to_slot
  WHERE j.job_id = $1 AND j.tenant_id = $5`

const young = fragment`
  SELECT s.slot, s.execution_id
  FROM slots s
  WHERE s.job_id = $1
    AND s.reason IS NULL
    AND s.slot >= greatest(from_ms($2), ${kept})
    AND s.slot <= from_ms($3)`

// The bounds of recorded_at leave out days: nothing is recorded before its slot, and the days to come are empty.
const oldEnded = fragment`
  SELECT a.execution_id, a.slot, a.kind, a.outcome
  FROM attempts a
  WHERE ${asksForOld}
    AND a.job_id = $1
    AND a.final
    AND a.recorded_at >= greatest(from_ms($2), (SELECT since FROM facts))
    AND a.recorded_at < now() + interval '1 hour'
    AND a.execution_id >= first_id(greatest(from_ms($2) - interval '1 minute', 'epoch'))
    AND a.execution_id < first_id(least(from_ms($3), ${kept}) + $7 * interval '1 millisecond')`

// A blocked execution never belongs to a slot.
const oldLive = fragment`
  SELECT *
  FROM live
  WHERE ${asksForOld} AND job_id = $1 AND state <> 'blocked'
  ORDER BY execution_id LIMIT 20000`
const oldBatched = fragment`
  batches b
  CROSS JOIN LATERAL unnest(b.positions, b.job_ids, b.slots_ms) AS batched(position, job_id, slot_ms)
  WHERE ${asksForOld}
    AND b.kind = 'slot'
    AND b.job_ids @> ARRAY[$1::uuid]
    AND batched.job_id = $1
    AND batched.slot_ms >= $2
    AND batched.slot_ms <= $3
    AND from_ms(batched.slot_ms) < ${kept}`
const isOldSlot = fragment`
  old.kind = 'slot' AND old.slot >= from_ms($2) AND old.slot <= from_ms($3) AND old.slot < ${kept}`

const batchState = fragment`CASE WHEN b.worker_id IS NULL THEN 'ready' ELSE 'running' END`

const states = fragment`
  SELECT young.slot, young.execution_id, coalesce(l.state, b.state) AS state,
    coalesce(l.attempt, 0) AS attempt, coalesce(l.cancelled, b.cancelled, false) AS cancelled, a.outcome`
const stateOf = fragment`
  LEFT JOIN LATERAL (
    SELECT l.state, l.attempt, l.cancelled_at IS NOT NULL AS cancelled
    FROM live l
    WHERE l.execution_id = young.execution_id LIMIT 1
  ) l ON true
  CROSS JOIN LATERAL (SELECT get_byte(uuid_send(young.execution_id), 15) AS position) own
  LEFT JOIN LATERAL (
    SELECT ${batchState} AS state, b.cancels ? own.position::text AS cancelled
    FROM batches b
    WHERE b.batch_id = batch_of(young.execution_id) AND own.position = ANY (b.positions) LIMIT 1
  ) b ON true
  LEFT JOIN LATERAL (
    SELECT a.outcome
    FROM attempts a
    WHERE l.state IS NULL
      AND b.state IS NULL
      AND a.job_id = $1
      AND a.execution_id = young.execution_id
      AND a.final
      AND a.recorded_at >= greatest(young.slot, facts.since)
      AND a.recorded_at < now() + interval '1 hour' LIMIT 1
  ) a ON true`

const old = fragment`
  SELECT old.slot, old.execution_id, NULL, 0, false, old.outcome
  FROM looked old
  WHERE ${isOldSlot}
  UNION ALL
  SELECT old.slot, old.execution_id, old.state, old.attempt, old.cancelled_at IS NOT NULL, NULL
  FROM (${oldLive}) old
  WHERE ${isOldSlot}
  UNION ALL
  SELECT from_ms(batched.slot_ms), execution_at(b.batch_id, batched.position), ${batchState}, 0,
    coalesce(b.cancels ? batched.position::text, false), NULL
  FROM ${oldBatched}`

// One row even when there is no execution; no row: there is no such job. The last row read is determined by its
// position: the greatest of 10,000 ids would be found by comparing texts.
const listed = fragment`
  SELECT facts.recorded_at, facts.owed_from, facts.owed_to,
    (SELECT (array_agg(execution_id))[$6::int] FROM looked) AS end_id, known.*`

export const listSlotsUp = sql('listSlotsUp')`
  WITH facts AS MATERIALIZED (${ofJob}), looked AS MATERIALIZED (
    ${oldEnded} ORDER BY a.execution_id LIMIT $6
  )
  ${listed}
  FROM facts
  LEFT JOIN LATERAL (
    SELECT *
    FROM (${states} FROM (${young} ORDER BY s.slot LIMIT $4) young ${stateOf} UNION ALL ${old}) known
    ORDER BY known.slot LIMIT $4
  ) known ON true
  ORDER BY known.slot`

export const listSlotsDown = sql('listSlotsDown')`
  WITH facts AS MATERIALIZED (${ofJob}), looked AS MATERIALIZED (
    ${oldEnded} ORDER BY a.execution_id DESC LIMIT $6
  )
  ${listed}
  FROM facts
  LEFT JOIN LATERAL (
    SELECT *
    FROM (${states} FROM (${young} ORDER BY s.slot DESC LIMIT $4) young ${stateOf} UNION ALL ${old}) known
    ORDER BY known.slot DESC LIMIT $4
  ) known ON true
  ORDER BY known.slot DESC`

// How many have a record. $4: where counting stops.
export const countSlots = sql('countSlots')`
  WITH facts AS MATERIALIZED (${ofJob}), looked AS MATERIALIZED (
    ${oldEnded} ORDER BY a.execution_id LIMIT $6
  )
  SELECT (SELECT count(*) FROM (${young} LIMIT $4) young) + (
      SELECT count(*) FROM looked old WHERE ${isOldSlot}
    )
      + (
        SELECT count(*) FROM (${oldLive}) old WHERE ${isOldSlot}
      ) + (SELECT count(*) FROM ${oldBatched}) AS executions,
    (SELECT count(*) FROM looked) AS seen, (
      SELECT coalesce(sum(skip.slot_count), 0)::float8
      FROM (
        SELECT slot_count
        FROM skips
        WHERE job_id = $1
          AND from_slot >= from_ms($2)
          AND from_slot <= from_ms($3)
          AND to_slot <= from_ms($3) LIMIT $4
      ) skip
    ) AS skipped
  FROM facts`

// No range lies within another, so of the ranges that begin before an instant only the last one can extend past it.
const range = fragment`
  SELECT skip.from_slot AS "from", skip.to_slot AS "to", skip.slot_count AS count, skip.reason, skip.version,
    skip.paused_at, skip.paused_by, skip.pause_reason, v.schedule, v.anchor_at`
const ofVersion = fragment`JOIN job_versions v ON v.job_id = skip.job_id AND v.version = skip.version`
const touching = (order: Fragment): Fragment => fragment`
  FROM (
    SELECT *
    FROM skips
    WHERE job_id = $1
      AND to_slot >= from_ms($2)
      AND from_slot <= from_ms($3)
      AND from_slot >= coalesce(
        (
          SELECT earlier.from_slot
          FROM skips earlier
          WHERE earlier.job_id = $1 AND earlier.from_slot < from_ms($2)
          ORDER BY earlier.from_slot DESC LIMIT 1
        ),
        from_ms($2)
      )
    ORDER BY ${order} LIMIT $4
  ) skip`

export const listSkipsUp = sql('listSkipsUp')`
  ${range} ${touching(fragment`from_slot`)} ${ofVersion} ORDER BY skip.from_slot`
export const listSkipsDown = sql('listSkipsDown')`
  ${range} ${touching(fragment`from_slot DESC`)} ${ofVersion} ORDER BY skip.from_slot DESC`

/** The ranges that reach over an end of [$2, $3]. */
export const selectSkipEdges = sql('selectSkipEdges')`
  ${range}
  FROM (
    (SELECT * FROM skips WHERE job_id = $1 AND from_slot < from_ms($2) ORDER BY from_slot DESC LIMIT 1)
    UNION
    (SELECT * FROM skips WHERE job_id = $1 AND from_slot <= from_ms($3) ORDER BY from_slot DESC LIMIT 1)
  ) skip ${ofVersion}
  WHERE skip.to_slot >= from_ms($2) AND (skip.from_slot < from_ms($2) OR skip.to_slot > from_ms($3))
  ORDER BY skip.from_slot`
