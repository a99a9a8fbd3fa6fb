// Invariants of the whole database that hold at any moment, after any race.
import assert from 'node:assert/strict'
import type pg from 'pg'
import { bufferMax } from '../../src/domain/jobs/job.ts'

/**
 * The end of an execution between attempts is no attempt: a cancel, a skip, or the time limit of all attempts together.
 */
const isAttempt = `NOT (a.started_at IS NULL
  AND (a.outcome IN ('cancelled', 'skipped') OR (a.outcome = 'timed_out' AND a.worker_id IS NULL)))`
const runs = `l.state IN ('running', 'awaiting')`

/** Each answers with the rows that break it. */
const invariants: Record<string, string> = {
  'an execution is in exactly one of batches, live and the final attempts': `
    SELECT execution_id, array_agg(place) FROM place GROUP BY execution_id HAVING count(*) > 1`,
  // Slots that leave the fast path join the end of their batch in any order; payloads go by position order.
  'a batch has as many jobs, versions and slots as positions, at least one, each once; in order if it has payloads': `
    SELECT batch_id, kind, positions, cardinality(job_ids) AS jobs FROM batches
    CROSS JOIN LATERAL (SELECT array_agg(DISTINCT p ORDER BY p) AS sorted FROM unnest(positions) AS p) u
    WHERE cardinality(positions) = 0 OR cardinality(job_ids) <> cardinality(positions)
      OR cardinality(versions) <> cardinality(positions) OR cardinality(slots_ms) <> cardinality(positions)
      OR cardinality(positions) <> cardinality(sorted) OR payloads IS NOT NULL AND positions <> sorted`,
  'an attempt is recorded once': `
    SELECT execution_id, attempt FROM attempts a WHERE ${isAttempt} GROUP BY execution_id, attempt HAVING count(*) > 1`,
  'the attempts of an execution count from 1, and those before the one under way are recorded': `
    SELECT a.execution_id, array_agg(a.attempt), max(l.attempt) FROM attempts a LEFT JOIN live l USING (execution_id)
    WHERE ${isAttempt} GROUP BY a.execution_id
    HAVING max(a.attempt) <> count(*) OR min(a.attempt) < 1
      OR max(l.attempt) <> count(*) + (bool_or(${runs}))::int`,
  'a live execution of which an attempt was spent has it recorded': `
    SELECT execution_id FROM live l WHERE attempt > (${runs})::int
      AND NOT EXISTS (SELECT FROM attempts a WHERE a.execution_id = l.execution_id)`,
  'an attempt that was not the last belongs to an execution that is there': `
    SELECT DISTINCT execution_id FROM attempts WHERE execution_id NOT IN (SELECT execution_id FROM place)`,
  'the final attempt is the last one': `
    SELECT execution_id FROM attempts a WHERE final
      AND EXISTS (SELECT FROM attempts b WHERE b.execution_id = a.execution_id AND b.attempt > a.attempt)`,
  'the record of a cancellation is final and says so; it has the number of the last attempt, or of the one that ran': `
    SELECT a.execution_id, a.attempt, a.worker_id FROM attempts a
    WHERE a.outcome = 'cancelled' AND (NOT a.final OR a.error_type <> 'CANCELLED' OR a.error_message IS NULL
      OR a.dead_letter OR a.attempt <> (a.worker_id IS NOT NULL)::int + (
        SELECT count(*) FROM attempts b WHERE b.execution_id = a.execution_id AND b.outcome <> 'cancelled'))`,
  'an execution has at most one final attempt': `
    SELECT execution_id FROM attempts WHERE final GROUP BY execution_id HAVING count(*) > 1`,
  'only positions of a batch that is claimed are flagged as cancelled': `
    SELECT b.batch_id, b.cancels FROM batches b CROSS JOIN LATERAL jsonb_object_keys(b.cancels) AS c(place)
    WHERE b.worker_id IS NULL OR c.place::smallint <> ALL (b.positions)`,
  'an execution that was ever flagged as cancelled is still flagged, or has ended so': `
    SELECT f.execution_id, p.place, a.outcome FROM flagged f LEFT JOIN place p USING (execution_id)
    LEFT JOIN attempts a ON a.execution_id = f.execution_id AND a.final
    LEFT JOIN live l ON l.execution_id = f.execution_id LEFT JOIN batches b ON b.batch_id = batch_of(f.execution_id)
    WHERE p.place IS NULL OR CASE p.place WHEN 'final' THEN a.outcome <> 'cancelled' OR a.worker_id IS NULL
      WHEN 'batch' THEN NOT coalesce(b.cancels ? ('x' || right(f.execution_id::text, 2))::bit(8)::int::text, false)
      ELSE l.cancelled_at IS NULL END`,
  'a live execution that is flagged as cancelled runs, and has a message': `
    SELECT execution_id, state FROM live l
    WHERE (cancelled_at IS NULL) <> (cancel_message IS NULL) OR (cancelled_at IS NOT NULL AND NOT ${runs})`,
  'an attempt under way has a start and a deadline, near once it is cancelled; it has a worker, or awaits its end': `
    SELECT execution_id, state, deadline, cancelled_at FROM live l WHERE ${runs} AND (num_nulls(started_at, deadline) > 0
      OR deadline > cancelled_at + interval '30 seconds' OR (caller_id IS NOT NULL) <> (state = 'awaiting'))`,
  'what is not under way has nothing of an attempt': `
    SELECT execution_id, state FROM live l WHERE NOT ${runs} AND num_nonnulls(worker_id, caller_id, started_at, deadline,
      silent_at, heard_at, progress, progress_text) > 0`,
  'what was claimed once has a fence, so that its next claim has a higher one': `
    SELECT execution_id, attempt, fence FROM live WHERE attempt > fence`,
  'an execution is on the route of its version': `
    SELECT p.execution_id FROM place p JOIN job_versions v USING (job_id, version)
    LEFT JOIN live l USING (execution_id) LEFT JOIN batches b ON b.batch_id = batch_of(p.execution_id)
    WHERE p.place <> 'final' AND CASE p.place WHEN 'batch' THEN b.route ELSE l.route END <> v.route`,
  'an execution that is to be found by its deadlines is in live': `
    SELECT p.execution_id FROM place p JOIN job_versions v USING (job_id, version)
    WHERE p.place = 'batch' AND num_nonnulls(v.total_timeout_seconds, v.heartbeat_timeout_seconds) > 0`,
  // The last execution to get the key found room under its own limit, and since then the others have only left.
  'no more hold a concurrency key than the greatest limit among them allows': `
    SELECT tenant_id, concurrency_key, count(*), max(key_limit) FROM live
    WHERE concurrency_key IS NOT NULL AND state <> 'waiting' GROUP BY tenant_id, concurrency_key
    HAVING count(*) > max(key_limit)`,
  'what a key or a limit counts is in live, never in a batch': `
    SELECT p.execution_id FROM place p JOIN job_versions v ON v.job_id = p.job_id AND v.version = p.version
    WHERE p.place = 'batch'
      AND (v.concurrency_key IS NOT NULL OR v.overlap_policy = 'ALLOW' AND v.concurrency_limit IS NOT NULL)`,
  'a live execution carries the key of its version': `
    SELECT l.execution_id FROM live l JOIN job_versions v ON v.job_id = l.job_id AND v.version = l.version
    WHERE l.state <> 'blocked'
      AND (l.concurrency_key, l.key_limit) IS DISTINCT FROM (v.concurrency_key, v.concurrency_key_limit)`,
  // Except slots that are counted for a key, where every slot waits for its turn.
  'no more slots of a job wait than its policy has room for': `
    SELECT l.job_id, count(*) FROM live l JOIN cursors c ON c.job_id = l.job_id AND c.version = l.version
    JOIN job_versions v ON v.job_id = l.job_id AND v.version = l.version AND v.concurrency_key IS NULL
    WHERE l.state = 'waiting' AND l.kind = 'slot' GROUP BY l.job_id, v.overlap_policy
    HAVING count(*) > CASE v.overlap_policy WHEN 'SKIP' THEN 0 WHEN 'BUFFER_ONE' THEN 1 ELSE ${bufferMax} END`,
  'a schedule with max_runs has had no more runs than that, and no fewer than it ran or owes': `
    SELECT c.job_id, c.runs FROM cursors c JOIN job_versions v ON v.job_id = c.job_id AND v.version = c.version
    WHERE c.runs > (v.schedule ->> 'max_runs')::int
      OR c.version = 1 AND (v.schedule ->> 'max_runs') IS NOT NULL
        AND c.runs < (SELECT count(*) FROM slots s WHERE s.job_id = c.job_id AND s.reason IS NULL)`,
  'a slot that fired leads to its execution': `
    SELECT s.job_id, s.slot, s.execution_id FROM slots s WHERE reason IS NULL
      AND NOT EXISTS (SELECT FROM place p WHERE p.execution_id = s.execution_id AND p.job_id = s.job_id AND p.slot = s.slot)`,
  'an execution of a slot has its record in slots': `
    SELECT execution_id FROM place p WHERE kind = 'slot'
      AND NOT EXISTS (SELECT FROM slots s WHERE s.job_id = p.job_id AND s.slot = p.slot AND s.execution_id = p.execution_id)`,
  'the latest slot of a job that allows no overlaps leads to the batch that holds it, or its cursor says that it may not': `
    SELECT p.job_id, p.execution_id FROM place p JOIN cursors c ON c.job_id = p.job_id AND NOT c.scattered
    JOIN job_versions v ON v.job_id = c.job_id AND v.version = c.version AND v.overlap_policy <> 'ALLOW'
    WHERE p.place = 'batch' AND p.execution_id <> (
      SELECT s.execution_id FROM slots s WHERE s.job_id = p.job_id ORDER BY s.slot DESC LIMIT 1)`,
  'no two executions of a job that allows no overlaps are under way, but for those that wait and a backfill': `
    SELECT p.job_id, array_agg(p.place || ' ' || p.execution_id) FROM place p
    JOIN job_versions v ON v.job_id = p.job_id AND v.version = p.version AND v.overlap_policy <> 'ALLOW'
    WHERE p.place IN ('batch', 'live') GROUP BY p.job_id
    HAVING count(*) > 1 AND bool_or(p.kind <> 'backfill')`,
  'a skipped slot did not run': `
    SELECT k.job_id, k.from_slot, k.to_slot, s.slot FROM skips k
    JOIN slots s ON s.job_id = k.job_id AND s.slot BETWEEN k.from_slot AND k.to_slot AND s.reason IS NULL`,
  'a slot is skipped once': `
    SELECT a.job_id, a.from_slot, b.from_slot FROM skips a
    JOIN skips b ON b.job_id = a.job_id AND b.from_slot > a.from_slot AND b.from_slot <= a.to_slot`,
  'a range of skips is of a version there is, and runs forward over no more seconds than it has': `
    SELECT k.job_id, k.from_slot FROM skips k LEFT JOIN job_versions v USING (job_id, version)
    WHERE v.job_id IS NULL OR k.to_slot < k.from_slot
      OR k.slot_count > extract(epoch FROM k.to_slot - k.from_slot) + 1`,
  'a slot that was skipped is in a range of skips': `
    SELECT s.job_id, s.slot, s.reason FROM slots s WHERE s.reason IS NOT NULL AND NOT EXISTS (
      SELECT FROM skips k WHERE k.job_id = s.job_id AND s.slot BETWEEN k.from_slot AND k.to_slot)`,
  'a job, its cursor and its versions agree': `
    SELECT j.job_id, j.version, c.version, c.status FROM jobs j JOIN cursors c USING (job_id)
    WHERE j.version <> c.version OR j.tenant_id <> c.tenant_id OR (j.deleted_at IS NOT NULL) <> (c.status = 'DELETED')
      OR (j.paused_at IS NOT NULL) <> (c.status = 'PAUSED')
      OR j.version <> (SELECT count(*) FROM job_versions v WHERE v.job_id = j.job_id)
      OR j.version <> (SELECT max(version) FROM job_versions v WHERE v.job_id = j.job_id)`,
  'a job that does not fire owes nothing': `
    SELECT k.job_id, c.status FROM catchups k JOIN cursors c USING (job_id) WHERE c.status IN ('PAUSED', 'DELETED')`,
  // An execution that ran when its job was deleted ends normally, its retries included; a worker may also hand it back
  // unstarted.
  'nothing of a deleted job is pending': `
    SELECT p.execution_id, p.place FROM place p JOIN cursors c ON c.job_id = p.job_id AND c.status = 'DELETED'
    LEFT JOIN batches b ON b.batch_id = batch_of(p.execution_id) LEFT JOIN live l ON l.execution_id = p.execution_id
    WHERE (p.place = 'batch' AND b.worker_id IS NULL) OR p.place = 'waiting'
      OR (p.place = 'live' AND NOT ${runs} AND l.attempt = 0 AND l.kind <> 'slot')`,
  'what is owed is decided': `
    SELECT k.job_id FROM catchups k JOIN cursors c USING (job_id) WHERE k.to_slot > c.decided_to`,
  'only a job that allows no overlaps, or is paced or counted, owes anything': `
    SELECT k.job_id FROM catchups k WHERE k.pace_ms = 0 AND NOT EXISTS (
      SELECT FROM job_versions v WHERE v.job_id = k.job_id
        AND (v.overlap_policy <> 'ALLOW' OR (v.schedule ->> 'max_runs') IS NOT NULL))`,
  'what a job depends on is what its version says, and nothing once it is deleted': `
    SELECT c.job_id FROM cursors c JOIN job_versions v USING (job_id, version)
    WHERE ARRAY(SELECT (e.parent_id, e.rule)::text FROM job_edges e WHERE e.child_id = c.job_id ORDER BY 1)
      IS DISTINCT FROM ARRAY(SELECT ((d ->> 'job_id')::uuid, d ->> 'on')::text
        FROM json_array_elements(coalesce(v.depends_on, '[]')) AS d WHERE c.status <> 'DELETED' ORDER BY 1)`,
  'a job depends on jobs of its tenant that are not deleted': `
    SELECT e.child_id, e.parent_id FROM job_edges e
    JOIN cursors c ON c.job_id = e.child_id JOIN cursors p ON p.job_id = e.parent_id
    WHERE p.tenant_id <> c.tenant_id OR p.status = 'DELETED'`,
  'no job depends on itself, over however many': `
    WITH RECURSIVE up AS (
      SELECT child_id, parent_id FROM job_edges
      UNION SELECT u.child_id, e.parent_id FROM up u JOIN job_edges e ON e.child_id = u.parent_id)
    SELECT child_id FROM up WHERE child_id = parent_id`,
  'a graph has the least id of all that hang together': `
    WITH RECURSIVE near AS (
      SELECT child_id AS one, parent_id AS other FROM job_edges
      UNION SELECT parent_id, child_id FROM job_edges
    ), reach AS (
      SELECT one, other FROM near UNION SELECT r.one, n.other FROM reach r JOIN near n ON n.one = r.other)
    SELECT c.job_id, c.graph_id FROM cursors c
    WHERE c.graph_id IS DISTINCT FROM (SELECT other FROM reach WHERE one = c.job_id ORDER BY other LIMIT 1)`,
  'a job that depends on others says so, and has no slot': `
    SELECT c.job_id FROM cursors c WHERE c.depends <> EXISTS (SELECT FROM job_edges e WHERE e.child_id = c.job_id)
      OR c.depends AND (num_nonnulls(c.slot_at, c.due_at) > 0 OR c.status NOT IN ('ACTIVE', 'PAUSED'))`,
  'no two runs of a root that allows no overlaps are under way, but for those that wait and a backfill': `
    SELECT r.job_id, array_agg(r.run_id) FROM run_roots r JOIN place p USING (job_id, execution_id)
    JOIN job_versions v ON v.job_id = p.job_id AND v.version = p.version AND v.overlap_policy <> 'ALLOW'
    -- One that was cancelled while it waited was never let go, though its run may still be ending.
    WHERE p.place <> 'waiting' AND NOT EXISTS (
      SELECT FROM attempts a WHERE a.execution_id = r.execution_id AND a.outcome = 'cancelled' AND a.worker_id IS NULL)
    GROUP BY r.job_id
    HAVING count(*) > 1 AND (count(r.operation_id) < count(*) OR count(DISTINCT r.operation_id) > 1)`,
  'what waits for others of its run belongs to a run that goes on, and holds no key': `
    SELECT l.execution_id FROM live l WHERE l.state = 'blocked' AND (l.concurrency_key IS NOT NULL OR NOT EXISTS (
      SELECT FROM graph_runs g WHERE g.run_id = l.run_id AND l.execution_id = ANY (g.execution_ids)
        AND g.finished_at IS NULL))`,
  'of a run that has ended nothing is live, and nothing is in the way of its roots': `
    SELECT g.run_id FROM graph_runs g WHERE g.finished_at IS NOT NULL AND (
      EXISTS (SELECT FROM live l WHERE l.run_id = g.run_id AND l.execution_id = ANY (g.execution_ids))
      OR EXISTS (SELECT FROM run_roots r WHERE r.run_id = g.run_id AND r.execution_id = ANY (g.execution_ids)))`,
  'a dead letter has its final attempt, marked': `
    SELECT execution_id FROM dead_letters d
    WHERE NOT EXISTS (SELECT FROM attempts a WHERE a.execution_id = d.execution_id AND a.final AND a.dead_letter)`,
  'a letter that was redriven is gone, and redriven once': `
    SELECT p.retry_of FROM place p WHERE p.retry_of IS NOT NULL GROUP BY p.retry_of
    HAVING count(*) FILTER (WHERE p.kind = 'redrive') > 1 OR p.retry_of IN (SELECT execution_id FROM dead_letters)`,
  // A root that never fired repeats nothing when its run is resumed; `replaced` says so: place, execution, which resume.
  'a retry and a redrive lead to what has ended': `
    SELECT execution_id, retry_of FROM place p
    WHERE p.kind <> 'dependency' AND (p.retry_of IS NULL) <> (p.kind NOT IN ('retry', 'redrive')) AND NOT EXISTS (
        SELECT FROM graph_runs g CROSS JOIN json_array_elements(g.replaced) AS r
        WHERE p.kind = 'retry' AND r ->> 1 IS NULL AND p.execution_id IN (
          SELECT g.execution_ids[(r ->> 0)::int + 1]
          UNION ALL SELECT (s ->> 1)::uuid FROM json_array_elements(g.replaced) AS s WHERE s ->> 0 = r ->> 0))
      OR p.retry_of IS NOT NULL AND NOT EXISTS (SELECT FROM attempts a WHERE a.execution_id = p.retry_of AND a.final)`,
  'whoever holds something is there': `
    SELECT worker_id FROM (SELECT worker_id FROM batches UNION ALL SELECT worker_id FROM live) h
    WHERE worker_id IS NOT NULL AND worker_id NOT IN (SELECT worker_id FROM workers)`,
}

const places = `
  CREATE OR REPLACE TEMPORARY VIEW place AS
  SELECT execution_at(b.batch_id, u.place) AS execution_id, 'batch' AS place, u.job_id, u.version,
    from_ms(u.slot_ms)::timestamptz(3) AS slot, b.kind, NULL::uuid AS retry_of
  FROM batches b
  CROSS JOIN LATERAL unnest(b.positions, b.job_ids, b.versions, b.slots_ms) AS u(place, job_id, version, slot_ms)
  UNION ALL
  SELECT execution_id, CASE WHEN state IN ('waiting', 'blocked') THEN state ELSE 'live' END, job_id, version, slot, kind, retry_of
  FROM live
  UNION ALL
  SELECT execution_id, 'final', job_id, version, slot, kind, retry_of FROM attempts WHERE final`

/** From here on the database itself remembers every execution that was ever flagged as cancelled. */
export async function watchFlags(client: pg.Client): Promise<void> {
  await client.query(`
    CREATE TABLE flagged (execution_id uuid PRIMARY KEY);
    CREATE FUNCTION watch_batch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO flagged SELECT execution_at(NEW.batch_id, c.place::int)
      FROM jsonb_object_keys(NEW.cancels) AS c(place) ON CONFLICT DO NOTHING;
      RETURN NEW;
    END $$;
    CREATE FUNCTION watch_live() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO flagged VALUES (NEW.execution_id) ON CONFLICT DO NOTHING;
      RETURN NEW;
    END $$;
    CREATE TRIGGER watch AFTER INSERT OR UPDATE ON batches FOR EACH ROW WHEN (NEW.cancels IS NOT NULL)
      EXECUTE FUNCTION watch_batch();
    CREATE TRIGGER watch AFTER INSERT OR UPDATE ON live FOR EACH ROW WHEN (NEW.cancelled_at IS NOT NULL)
      EXECUTE FUNCTION watch_live()`)
}

/** Every invariant, each in one snapshot. */
export async function assertWhole(client: pg.Client): Promise<void> {
  await client.query(places)
  for (const [what, broken] of Object.entries(invariants)) {
    const { rows } = await client.query(broken)
    assert.deepEqual(rows, [], what)
  }
}

/** Where executions are, by id: 'batch', 'live', 'waiting', 'blocked', 'final'. */
export async function placesOf(client: pg.Client): Promise<Record<string, string>> {
  await client.query(places)
  const { rows } = await client.query<{ execution_id: string; place: string }>('SELECT * FROM place')
  return Object.fromEntries(rows.map((row) => [row.execution_id, row.place]))
}

/** The fate of every second of a job's slots: 'ran', 'skipped', 'owed', in this order; 'nothing' is a hole. */
export async function fatesOf(
  client: pg.Client,
  { jobId }: { jobId: string },
  { from, to }: { from: number; to: number },
): Promise<string[]> {
  const { rows } = await client.query<{ fate: string }>(
    `SELECT concat_ws(' and ',
      CASE WHEN EXISTS (SELECT FROM slots s WHERE s.job_id = $1 AND s.slot = x.slot AND s.reason IS NULL)
        THEN 'ran' END,
      CASE WHEN EXISTS (SELECT FROM skips k WHERE k.job_id = $1 AND x.slot BETWEEN k.from_slot AND k.to_slot)
        THEN 'skipped' END,
      CASE WHEN EXISTS (SELECT FROM catchups k WHERE k.job_id = $1 AND x.slot BETWEEN k.from_slot AND k.to_slot)
        AND NOT EXISTS (SELECT FROM slots s WHERE s.job_id = $1 AND s.slot = x.slot) THEN 'owed' END) AS fate
    FROM generate_series(from_ms($2), from_ms($3), interval '1 second') AS x(slot) ORDER BY x.slot`,
    [jobId, from, to],
  )
  return rows.map(({ fate }) => fate || 'nothing')
}

/** The same, as runs of equal fates by their seconds: '0 ran', '1-599 skipped'. */
export async function fateRunsOf(
  client: pg.Client,
  job: { jobId: string },
  { at }: { at: (second: number) => number },
  { from = 0, to = 599 } = {},
): Promise<string[]> {
  const fates = await fatesOf(client, job, { from: at(from), to: at(to) })
  const runs: { first: number; last: number; fate: string }[] = []
  for (const [i, fate] of fates.entries()) {
    const second = from + i
    const run = runs.at(-1)
    if (run?.fate === fate) run.last = second
    else runs.push({ first: second, last: second, fate })
  }
  return runs.map(({ first, last, fate }) => `${first === last ? first : `${first}-${last}`} ${fate}`)
}
