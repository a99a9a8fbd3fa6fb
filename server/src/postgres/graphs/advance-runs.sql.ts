// The statements that advance locked runs: read the notes, take the further locks, write the results.
import { fragment, sql } from '../../lib/sql.ts'
import { isLimited, isUnderWay, rankOf, recordedSince } from '../sql/fragments.ts'
import { columnsOf, insertAttempts } from '../sql/insert.ts'

// $2: notes of each run, the oldest of it. The end of an execution was recorded with its note: an hour around that is
// one day of history, or two. The version of a root that has not ended comes from its row.
export const selectNotes = sql('selectNotes')`
  SELECT n.note_id, n.run_id, n.what, n.job_id, n.execution_id, coalesce(n.message, e.error_message) AS message,
    e.outcome, e.skip_reason, coalesce(e.version, l.version) AS version
  FROM unnest($1::uuid[]) AS r(run_id)
  CROSS JOIN LATERAL (SELECT * FROM run_notes o WHERE o.run_id = r.run_id ORDER BY o.note_id LIMIT $2) n
  LEFT JOIN LATERAL (
    SELECT a.outcome, a.skip_reason, a.error_message, a.version FROM attempts a
    WHERE n.what = 'end' AND a.job_id = n.job_id AND a.execution_id = n.execution_id AND a.final
      AND a.recorded_at >= n.at - interval '1 hour' AND a.recorded_at < n.at + interval '1 hour' LIMIT 1
  ) e ON true
  LEFT JOIN LATERAL (
    SELECT l.version FROM live l WHERE n.what = 'root' AND l.execution_id = n.execution_id LIMIT 1
  ) l ON true
  ORDER BY n.note_id`

// The roots (j) that have not fired into their run (r), for its slot (s), and will not: the slot was skipped, or fired
// into another run, or lies behind the job, which does not owe it. A root that has fired is noted. A root with a pause
// that is over resumes as of the end of it, in a moment.
export const selectUnrun = sql('selectUnrun')`
  SELECT x.r AS run_id, x.j AS job_id FROM json_to_recordset($1::json) AS x(r uuid, j uuid, s float8)
  LEFT JOIN LATERAL (SELECT * FROM cursors c WHERE c.job_id = x.j LIMIT 1) c ON true
  WHERE (SELECT true FROM run_roots q WHERE q.job_id = x.j AND q.run_id = x.r LIMIT 1) IS NULL AND coalesce(
    (SELECT true FROM slots s WHERE s.job_id = x.j AND s.slot = from_ms(x.s) LIMIT 1),
    (SELECT false FROM catchups k WHERE k.job_id = x.j AND from_ms(x.s) BETWEEN k.from_slot AND k.to_slot LIMIT 1),
    NOT (NOT c.depends AND coalesce(c.decided_to < from_ms(x.s), true) AND CASE c.status
      WHEN 'ACTIVE' THEN c.slot_at <= from_ms(x.s)
      WHEN 'PAUSED' THEN (SELECT j.resume_at <= from_ms(x.s) FROM jobs j WHERE j.job_id = x.j)
      ELSE false END),
    true)`

/** Fires, triggers and changes of these jobs wait meanwhile. */
export const lockMembers = sql('lockMembers')`
  SELECT c.job_id, c.status FROM cursors c WHERE c.job_id = ANY ($1::uuid[]) ORDER BY c.job_id FOR NO KEY UPDATE`

/** For paused jobs, in a statement after the lock: the jobs with a pause that is over, which resume in a moment. */
export const selectPausedNoMore = sql('selectPausedNoMore')`
  SELECT j.job_id FROM jobs j WHERE j.job_id = ANY ($1::uuid[]) AND j.resume_at <= (SELECT clock_ms())`

/** All that is written to, in the order of ids, before any of it is. */
export const lockNodes = sql('lockNodes')`
  SELECT l.execution_id FROM live l WHERE l.execution_id = ANY ($1::uuid[]) ORDER BY l.execution_id FOR UPDATE`

// Several nodes of the same job, in runs that overlap: all but the first wait for it. The statement does not see its
// own writes, hence the number. f: nothing is in its way, as is known under the lock.
export const letNodesGo = sql('letNodesGo')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), node AS MATERIALIZED (
    SELECT x.e, x.l, d.priority, d.concurrency_key, d.concurrency_key_limit,
      CASE WHEN d.limited OR (d.overlap_policy <> 'ALLOW' AND x.f IS NOT TRUE AND (
        row_number() OVER (PARTITION BY d.job_id ORDER BY x.n) > 1
        OR ${isUnderWay(fragment`d.job_id`, fragment`d.scattered`)}
      )) THEN 'waiting' ELSE 'ready' END AS state
    FROM json_to_recordset($1::json) AS x(n int, e uuid, l text, f boolean)
    CROSS JOIN LATERAL (
      SELECT o.job_id, o.priority, v.overlap_policy, v.concurrency_key, v.concurrency_key_limit, c.scattered,
        ${isLimited} AS limited
      FROM live o JOIN job_versions v ON v.job_id = o.job_id AND v.version = o.version
      JOIN cursors c ON c.job_id = o.job_id
      WHERE o.execution_id = x.e LIMIT 1
    ) d
  )
  UPDATE live l SET state = n.state, lane = n.l, enqueued_at = m.at, rank = ${rankOf(fragment`m.at`, fragment`n.priority`)},
    concurrency_key = n.concurrency_key, key_limit = n.concurrency_key_limit
  FROM node n CROSS JOIN moment m
  WHERE l.execution_id = n.e AND l.execution_id = ANY (ARRAY(SELECT e FROM node))
  RETURNING l.state`

export const selectNames = sql('selectNames')`SELECT job_id, name FROM jobs WHERE job_id = ANY ($1::uuid[])`

/** $1: executions (e) with the reason (r) and the message (m). */
export const skipNodes = sql('skipNodes')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), item AS MATERIALIZED (
    SELECT x.* FROM json_to_recordset($1::json) AS x(e uuid, r text, m text)
  ), gone AS (
    DELETE FROM live l WHERE l.execution_id = ANY (ARRAY(SELECT e FROM item)) RETURNING l.*
  ), recorded AS (
    ${insertAttempts(
      {
        ...columnsOf(
          fragment`l`,
          'tenant_id',
          'job_id',
          'version',
          'execution_id',
          'kind',
          'slot',
          'enqueued_at',
        ),
        ...columnsOf(fragment`l`, 'payload_override', 'idempotency_key', 'retry_of', 'run_id'),
        recorded_at: fragment`m.at`,
        attempt: fragment`0`,
        final: fragment`true`,
        outcome: fragment`'skipped'`,
        finished_at: fragment`m.at`,
        error_message: fragment`i.m`,
        skip_reason: fragment`i.r`,
      },
      fragment`
        FROM gone l
        JOIN item i ON i.e = l.execution_id
        CROSS JOIN moment m`,
    )}
  )
  SELECT l.execution_id, l.kind, l.route, 0 AS attempt, l.enqueued_at, m.at AS recorded_at FROM gone l CROSS JOIN moment m`

/** Which execution of which version the nodes are: only when a root has fired, because the arrays are long. */
export const writePlans = sql('writePlans')`
  UPDATE graph_runs g SET versions = x.v, execution_ids = x.e
  FROM json_to_recordset($1::json) AS x(r uuid, v int[], e uuid[]) WHERE g.run_id = x.r`

// $1: executions (e) of roots (j) that fired into a run (r) in which they have no position. Each gets a run of its own,
// which has its id, and all its notes go there; if its job is in no graph any more, it runs alone. One that stays was
// cancelled with the run, and only frees its root. Rows that are still in live are locked.
export const moveRoots = sql('moveRoots')`
  WITH item AS MATERIALIZED (
    SELECT x.*, CASE WHEN c.graph_id IS NOT NULL AND x.r <> x.e AND NOT x.stays THEN x.e END AS own
    FROM json_to_recordset($1::json) AS x(j uuid, r uuid, e uuid, stays boolean)
    LEFT JOIN LATERAL (SELECT * FROM cursors c WHERE c.job_id = x.j LIMIT 1) c ON true
  ), moved AS (
    UPDATE live l SET run_id = i.own FROM item i
    WHERE NOT i.stays AND l.execution_id = i.e AND l.execution_id = ANY (ARRAY(SELECT e FROM item))
  ), recorded AS (
    UPDATE attempts a SET run_id = i.own FROM item i
    WHERE NOT i.stays AND a.job_id = i.j AND a.execution_id = i.e AND a.recorded_at >= ${recordedSince(fragment`i.e`)}
      AND a.recorded_at < now() + interval '1 hour'
  ), lettered AS (
    UPDATE dead_letters d SET run_id = i.own FROM item i
    WHERE NOT i.stays AND d.execution_id = i.e AND d.execution_id = ANY (ARRAY(SELECT e FROM item))
  ), freed AS (
    -- Not that of a run that was resumed, which is of another execution.
    DELETE FROM run_roots q USING item i WHERE q.job_id = i.j AND q.run_id = i.r AND q.execution_id = i.e
  ), placed AS (
    INSERT INTO run_roots (job_id, run_id, execution_id) SELECT i.j, i.own, i.e FROM item i WHERE i.own IS NOT NULL
  ), noted AS (
    UPDATE run_notes n SET run_id = i.own FROM item i
    WHERE n.run_id = i.r AND n.execution_id = i.e AND i.own IS NOT NULL
  )
  DELETE FROM run_notes n USING item i WHERE n.run_id = i.r AND n.execution_id = i.e AND i.own IS NULL`

// $1 runs (o: it is over); $2 notes that were read; $3 executions that ended in this transaction: their notes are
// known.
export const writeRuns = sql('writeRuns')`
  WITH moment AS MATERIALIZED (SELECT clock_ms() AS at), item AS MATERIALIZED (
    SELECT x.* FROM json_to_recordset($1::json) AS x(r uuid, t text, c text, s text, u boolean, o boolean)
  ), written AS (
    UPDATE graph_runs g SET status = i.t, cancel_message = i.c, states = i.s, unfired = i.u,
      finished_at = CASE WHEN i.o THEN m.at END
    FROM item i CROSS JOIN moment m WHERE g.run_id = i.r AND g.run_id = ANY (ARRAY(SELECT r FROM item))
  ), freed AS (
    DELETE FROM run_roots WHERE run_id = ANY (ARRAY(SELECT r FROM item WHERE o))
  ), known AS (
    -- Joined, not = ANY: of a parameter every note would be compared with every execution.
    DELETE FROM run_notes n USING unnest($3::uuid[]) AS x(e)
    WHERE n.run_id = ANY (ARRAY(SELECT r FROM item)) AND n.execution_id = x.e
  )
  DELETE FROM run_notes WHERE note_id = ANY ($2::bigint[])`
