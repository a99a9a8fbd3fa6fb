// What holds of the whole database at any moment, whatever raced.
import assert from 'node:assert/strict'
import type pg from 'pg'

/** Each answers with the rows that break it. */
const invariants: Record<string, string> = {
  'an execution is in exactly one of batches, live and the final attempts': `
    SELECT execution_id, array_agg(place) FROM place GROUP BY execution_id HAVING count(*) > 1`,
  'a batch has as many jobs, versions and slots as positions, and at least one, in order': `
    SELECT batch_id FROM batches WHERE cardinality(positions) = 0 OR cardinality(job_ids) <> cardinality(positions)
      OR cardinality(versions) <> cardinality(positions) OR cardinality(slots_ms) <> cardinality(positions)
      OR positions <> (SELECT array_agg(DISTINCT p ORDER BY p) FROM unnest(positions) AS p)`,
  'an attempt is recorded once': `
    SELECT execution_id, attempt FROM attempts GROUP BY execution_id, attempt HAVING count(*) > 1`,
  'the attempts of an execution count from 1, and those before the one under way are recorded': `
    SELECT a.execution_id, array_agg(a.attempt), max(l.attempt) FROM attempts a LEFT JOIN live l USING (execution_id)
    GROUP BY a.execution_id
    HAVING max(a.attempt) <> count(*) OR min(a.attempt) < 1
      OR max(l.attempt) <> count(*) + (bool_or(l.state = 'running'))::int`,
  'a live execution of which an attempt was spent has it recorded': `
    SELECT execution_id FROM live l WHERE attempt > (state = 'running')::int
      AND NOT EXISTS (SELECT FROM attempts a WHERE a.execution_id = l.execution_id)`,
  'an attempt that was not the last belongs to an execution that is there': `
    SELECT DISTINCT execution_id FROM attempts WHERE execution_id NOT IN (SELECT execution_id FROM place)`,
  'the final attempt is the last one': `
    SELECT execution_id FROM attempts a WHERE final
      AND EXISTS (SELECT FROM attempts b WHERE b.execution_id = a.execution_id AND b.attempt > a.attempt)`,
  'a slot that fired leads to its execution': `
    SELECT s.job_id, s.slot, s.execution_id FROM slots s WHERE reason IS NULL
      AND NOT EXISTS (SELECT FROM place p WHERE p.execution_id = s.execution_id AND p.job_id = s.job_id AND p.slot = s.slot)`,
  'an execution of a slot has its record in slots': `
    SELECT execution_id FROM place p WHERE kind = 'slot'
      AND NOT EXISTS (SELECT FROM slots s WHERE s.job_id = p.job_id AND s.slot = p.slot AND s.execution_id = p.execution_id)`,
  'the latest slot of a job that skips overlaps leads to the batch that holds it': `
    SELECT p.job_id, p.execution_id FROM place p
    JOIN job_versions v ON v.job_id = p.job_id AND v.version = p.version AND v.overlap_policy = 'SKIP'
    WHERE p.place = 'batch' AND p.execution_id <> (
      SELECT s.execution_id FROM slots s WHERE s.job_id = p.job_id ORDER BY s.slot DESC LIMIT 1)`,
  'no two executions of a job that skips overlaps are under way, but for those that wait': `
    SELECT p.job_id, array_agg(p.place || ' ' || p.execution_id) FROM place p
    JOIN job_versions v ON v.job_id = p.job_id AND v.version = p.version AND v.overlap_policy = 'SKIP'
    WHERE p.place IN ('batch', 'live') GROUP BY p.job_id HAVING count(*) > 1`,
  'a skipped slot did not run': `
    SELECT k.job_id, k.from_slot, k.to_slot, s.slot FROM skips k
    JOIN slots s ON s.job_id = k.job_id AND s.slot BETWEEN k.from_slot AND k.to_slot AND s.reason IS NULL`,
  'a slot is skipped once': `
    SELECT a.job_id, a.from_slot, b.from_slot FROM skips a
    JOIN skips b ON b.job_id = a.job_id AND b.from_slot > a.from_slot AND b.from_slot <= a.to_slot`,
  'what is owed is decided': `
    SELECT k.job_id FROM catchups k JOIN cursors c USING (job_id) WHERE k.to_slot > c.decided_to`,
  'only a job that skips overlaps owes anything': `
    SELECT k.job_id FROM catchups k JOIN cursors c USING (job_id) JOIN job_versions v USING (job_id, version)
    WHERE v.overlap_policy <> 'SKIP'`,
  'a dead letter has its final attempt, marked': `
    SELECT execution_id FROM dead_letters d
    WHERE NOT EXISTS (SELECT FROM attempts a WHERE a.execution_id = d.execution_id AND a.final AND a.dead_letter)`,
  'a letter that was redriven is gone, and redriven once': `
    SELECT p.retry_of FROM place p WHERE p.retry_of IS NOT NULL GROUP BY p.retry_of
    HAVING count(*) > 1 OR p.retry_of IN (SELECT execution_id FROM dead_letters)`,
  'whoever holds something is there': `
    SELECT worker_id FROM (SELECT worker_id FROM batches UNION ALL SELECT worker_id FROM live) h
    WHERE worker_id IS NOT NULL AND worker_id NOT IN (SELECT worker_id FROM workers)`,
}

const places = `
  CREATE OR REPLACE TEMPORARY VIEW place AS
  SELECT execution_at(b.batch_id, u.place) AS execution_id, 'batch' AS place, u.job_id, u.version,
    from_ms(u.slot_ms)::timestamptz(3) AS slot, 'slot' AS kind, NULL::uuid AS retry_of
  FROM batches b
  CROSS JOIN LATERAL unnest(b.positions, b.job_ids, b.versions, b.slots_ms) AS u(place, job_id, version, slot_ms)
  UNION ALL
  SELECT execution_id, CASE state WHEN 'waiting' THEN 'waiting' ELSE 'live' END, job_id, version, slot, kind, retry_of
  FROM live
  UNION ALL
  SELECT execution_id, 'final', job_id, version, slot, kind, retry_of FROM attempts WHERE final`

/** Every invariant, each in one snapshot. */
export async function assertWhole(client: pg.Client): Promise<void> {
  await client.query(places)
  for (const [what, broken] of Object.entries(invariants)) {
    const { rows } = await client.query(broken)
    assert.deepEqual(rows, [], what)
  }
}

/** Where executions are, by id: 'batch', 'live', 'waiting', 'final'. */
export async function placesOf(client: pg.Client): Promise<Record<string, string>> {
  await client.query(places)
  const { rows } = await client.query<{ execution_id: string; place: string }>('SELECT * FROM place')
  return Object.fromEntries(rows.map((row) => [row.execution_id, row.place]))
}

/** What became of every second of a job's slots: 'ran', 'skipped', 'owed', in this order; 'nothing' is a hole. */
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
