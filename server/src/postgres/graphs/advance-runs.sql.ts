// The statements that advance locked runs: read the notes, take the further locks, write the results.
import { fragment, sql } from '../../lib/sql.ts'
import { isLimited, isUnderWay, rankOf, recordedSince } from '../sql/fragments.ts'
import { columnsOf, insertAttempts } from '../sql/insert.ts'
import { nodeToGoItem, planItem, runItem, skippedNodeItem, strayItem, unfiredItem } from './items.ts'

// $2: notes of each run, the oldest of it. The end of an execution was recorded with its note: an hour around that is
// one day of history, or two. The version of a root that has not ended comes from its row.
export const selectNotes = sql('selectNotes')`
  SELECT note.note_id, note.run_id, note.what, note.job_id, note.execution_id,
    coalesce(note.message, ended.error_message) AS message, ended.outcome, ended.skip_reason,
    coalesce(ended.version, l.version) AS version
  FROM unnest($1::uuid[]) AS asked(run_id)
  CROSS JOIN LATERAL (
    SELECT * FROM run_notes note WHERE note.run_id = asked.run_id ORDER BY note.note_id LIMIT $2
  ) note
  LEFT JOIN LATERAL (
    SELECT a.outcome, a.skip_reason, a.error_message, a.version
    FROM attempts a
    WHERE note.what = 'end'
      AND a.job_id = note.job_id
      AND a.execution_id = note.execution_id
      AND a.final
      AND a.recorded_at >= note.at - interval '1 hour'
      AND a.recorded_at < note.at + interval '1 hour' LIMIT 1
  ) ended ON true
  LEFT JOIN LATERAL (
    SELECT l.version FROM live l WHERE note.what = 'root' AND l.execution_id = note.execution_id LIMIT 1
  ) l ON true
  ORDER BY note.note_id`

// The roots that have not fired into their run, for its slot, and will not: the slot was skipped, or fired
// into another run, or lies behind the job, which does not owe it. A root that has fired is noted. A root with a pause
// that is over resumes as of the end of it, in a moment.
export const selectUnrun = sql('selectUnrun')`
  SELECT asked.run_id, asked.job_id
  FROM json_to_recordset($1::json) AS asked(${unfiredItem.columns})
  LEFT JOIN LATERAL (SELECT * FROM cursors c WHERE c.job_id = asked.job_id LIMIT 1) c ON true
  WHERE (
    SELECT true FROM run_roots root WHERE root.job_id = asked.job_id AND root.run_id = asked.run_id LIMIT 1
  ) IS NULL
    AND coalesce(
      (SELECT true FROM slots s WHERE s.job_id = asked.job_id AND s.slot = from_ms(asked.slot_ms) LIMIT 1),
      (
        SELECT false
        FROM catchups catchup
        WHERE catchup.job_id = asked.job_id
          AND from_ms(asked.slot_ms) BETWEEN catchup.from_slot AND catchup.to_slot LIMIT 1
      ),
      NOT (
        NOT c.depends
        AND coalesce(c.decided_to < from_ms(asked.slot_ms), true)
        AND CASE c.status
          WHEN 'ACTIVE' THEN c.slot_at <= from_ms(asked.slot_ms)
          WHEN 'PAUSED'
            THEN (SELECT j.resume_at <= from_ms(asked.slot_ms) FROM jobs j WHERE j.job_id = asked.job_id)
          ELSE false
        END
      ),
      true
    )`

/** Fires, triggers and changes of these jobs wait meanwhile. */
export const lockMembers = sql('lockMembers')`
  SELECT c.job_id, c.status
  FROM cursors c
  WHERE c.job_id = ANY ($1::uuid[])
  ORDER BY c.job_id FOR NO KEY UPDATE`

/** For paused jobs, in a statement after the lock: the jobs with a pause that is over, which resume in a moment. */
export const selectPausedNoMore = sql('selectPausedNoMore')`
  SELECT j.job_id FROM jobs j WHERE j.job_id = ANY ($1::uuid[]) AND j.resume_at <= (SELECT clock_ms())`

/** All that is written to, in the order of ids, before any of it is. */
export const lockNodes = sql('lockNodes')`
  SELECT l.execution_id
  FROM live l
  WHERE l.execution_id = ANY ($1::uuid[])
  ORDER BY l.execution_id FOR UPDATE`

// Several nodes of the same job, in runs that overlap: all but the first wait for it. The statement does not see its
// own writes, hence the number. `is_free`: nothing is in its way, as is known
// under the lock.
export const letNodesGo = sql('letNodesGo')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), node AS MATERIALIZED (
    SELECT item.execution_id, item.lane, definition.priority, definition.concurrency_key,
      definition.concurrency_key_limit,
      CASE
        WHEN definition.limited
          OR (
            definition.overlap_policy <> 'ALLOW'
            AND item.is_free IS NOT TRUE
            AND (
              row_number() OVER (PARTITION BY definition.job_id ORDER BY item.number) > 1
              OR ${isUnderWay(fragment`definition.job_id`, fragment`definition.scattered`)}
            )
          ) THEN 'waiting'
        ELSE 'ready'
      END AS state
    FROM json_to_recordset($1::json) AS item(${nodeToGoItem.columns})
    CROSS JOIN LATERAL (
      SELECT blocked.job_id, blocked.priority, v.overlap_policy, v.concurrency_key, v.concurrency_key_limit,
        c.scattered, ${isLimited} AS limited
      FROM live blocked
      JOIN job_versions v ON v.job_id = blocked.job_id AND v.version = blocked.version
      JOIN cursors c ON c.job_id = blocked.job_id
      WHERE blocked.execution_id = item.execution_id LIMIT 1
    ) definition
  )
  UPDATE live l
  SET state = node.state, lane = node.lane, enqueued_at = m.at,
    rank = ${rankOf(fragment`m.at`, fragment`node.priority`)}, concurrency_key = node.concurrency_key,
    key_limit = node.concurrency_key_limit
  FROM node
  CROSS JOIN moment m
  WHERE l.execution_id = node.execution_id AND l.execution_id = ANY (ARRAY(SELECT execution_id FROM node))
  RETURNING l.state`

export const selectNames = sql('selectNames')`SELECT job_id, name FROM jobs WHERE job_id = ANY ($1::uuid[])`

export const skipNodes = sql('skipNodes')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), item AS MATERIALIZED (
    SELECT * FROM json_to_recordset($1::json) AS item(${skippedNodeItem.columns})
  ), gone AS (
    DELETE FROM live l WHERE l.execution_id = ANY (ARRAY(SELECT execution_id FROM item)) RETURNING l.*
  ), recorded AS (
    ${insertAttempts(
      {
        ...columnsOf(
          fragment`l`,
          ...(['tenant_id', 'job_id', 'version', 'execution_id', 'kind', 'slot', 'enqueued_at'] as const),
        ),
        ...columnsOf(fragment`l`, 'payload_override', 'idempotency_key', 'retry_of', 'run_id'),
        recorded_at: fragment`m.at`,
        attempt: fragment`0`,
        final: fragment`true`,
        outcome: fragment`'skipped'`,
        finished_at: fragment`m.at`,
        error_message: fragment`item.message`,
        skip_reason: fragment`item.reason`,
      },
      fragment`
        FROM gone l JOIN item ON item.execution_id = l.execution_id CROSS JOIN moment m`,
    )}
  )
  SELECT l.execution_id, l.kind, l.route, 0 AS attempt, l.enqueued_at, m.at AS recorded_at
  FROM gone l
  CROSS JOIN moment m`

/** Which execution of which version the nodes are: only when a root has fired, because the arrays are long. */
export const writePlans = sql('writePlans')`
  UPDATE graph_runs g
  SET versions = item.versions, execution_ids = item.execution_ids
  FROM json_to_recordset($1::json) AS item(${planItem.columns})
  WHERE g.run_id = item.run_id`

// $1: executions of roots that fired into a run of which they are no nodes. Each gets a run of its own, which has its id,
// and all its notes go there; if its job is in no graph any more, it runs alone. One that stays was cancelled with the
// run, and only frees its root. Rows that are still in live are locked.
export const moveRoots = sql('moveRoots')`
  WITH item AS MATERIALIZED (
    SELECT item.*,
      CASE
        WHEN c.graph_id IS NOT NULL AND item.run_id <> item.execution_id AND NOT item.stays
          THEN item.execution_id
      END AS own_run_id
    FROM json_to_recordset($1::json) AS item(${strayItem.columns})
    LEFT JOIN LATERAL (SELECT * FROM cursors c WHERE c.job_id = item.job_id LIMIT 1) c ON true
  ), moved AS (
    UPDATE live l
    SET run_id = item.own_run_id
    FROM item
    WHERE NOT item.stays
      AND l.execution_id = item.execution_id
      AND l.execution_id = ANY (ARRAY(SELECT execution_id FROM item))
  ), recorded AS (
    UPDATE attempts a
    SET run_id = item.own_run_id
    FROM item
    WHERE NOT item.stays
      AND a.job_id = item.job_id
      AND a.execution_id = item.execution_id
      AND a.recorded_at >= ${recordedSince(fragment`item.execution_id`)}
      AND a.recorded_at < now() + interval '1 hour'
  ), lettered AS (
    UPDATE dead_letters letter
    SET run_id = item.own_run_id
    FROM item
    WHERE NOT item.stays
      AND letter.execution_id = item.execution_id
      AND letter.execution_id = ANY (ARRAY(SELECT execution_id FROM item))
  ), freed AS (
    -- Not that of a run that was resumed, which is of another execution.
    DELETE FROM run_roots root
    USING item
    WHERE root.job_id = item.job_id AND root.run_id = item.run_id AND root.execution_id = item.execution_id
  ), started AS (
    INSERT INTO run_roots (job_id, run_id, execution_id)
    SELECT item.job_id, item.own_run_id, item.execution_id
    FROM item
    WHERE item.own_run_id IS NOT NULL
  ), noted AS (
    UPDATE run_notes note
    SET run_id = item.own_run_id
    FROM item
    WHERE note.run_id = item.run_id
      AND note.execution_id = item.execution_id
      AND item.own_run_id IS NOT NULL
  )
  DELETE FROM run_notes note
  USING item
  WHERE note.run_id = item.run_id AND note.execution_id = item.execution_id AND item.own_run_id IS NULL`

// $1 runs; $2 notes that were read; $3 executions that ended in this transaction: their notes are
// known.
export const writeRuns = sql('writeRuns')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), item AS MATERIALIZED (
    SELECT * FROM json_to_recordset($1::json) AS item(${runItem.columns})
  ), written AS (
    UPDATE graph_runs g
    SET status = item.status, cancel_message = item.cancel_message, states = item.states,
      unfired = item.unfired, finished_at = CASE WHEN item.is_over THEN m.at END
    FROM item
    CROSS JOIN moment m
    WHERE g.run_id = item.run_id AND g.run_id = ANY (ARRAY(SELECT run_id FROM item))
  ), freed AS (
    DELETE FROM run_roots WHERE run_id = ANY (ARRAY(SELECT run_id FROM item WHERE is_over))
  ), known AS (
    -- Joined, not = ANY: of a parameter every note would be compared with every execution.
    DELETE FROM run_notes note
    USING unnest($3::uuid[]) AS ended(execution_id)
    WHERE note.run_id = ANY (ARRAY(SELECT run_id FROM item)) AND note.execution_id = ended.execution_id
  )
  DELETE FROM run_notes
  WHERE note_id = ANY ($2::bigint[])`
