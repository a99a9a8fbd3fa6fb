// The statements on how jobs go: the fold of the record of attempts into it, and the lists that begin with the trouble.
import { type Fragment, fragment, sql } from '../../lib/sql.ts'
import { isNewAttempt } from '../sql/fragments.ts'
import { countsAsFailing, healthColumns, pageOfJobs } from '../sql/listed-jobs.ts'

// Of each job the executions later than the last known one, in the order in which they were recorded; of each the rest up to
// the last success is a row of failures. Only one process folds at a time, so the known health stays until it is written.
// $3: the most characters of a message.
export const foldHealth = sql('foldHealth')`
  WITH ended AS MATERIALIZED (
    SELECT a.tenant_id, a.job_id, a.execution_id, a.outcome, a.attempt, a.recorded_at,
      coalesce(a.finished_at, a.recorded_at) AS finished_at, a.http_status, a.error_type,
      left(a.error_message, $3) AS error_message
    FROM attempts a
    -- left(), so that the planner does not read the index of all that ever failed for it.
    WHERE ${isNewAttempt} AND a.final AND left(a.outcome, 9) NOT IN ('cancelled', 'skipped')
  ), placed AS (
    SELECT ended.*, (
        max(ended.execution_id::text COLLATE "C") OVER (
          PARTITION BY ended.job_id ORDER BY ended.recorded_at, ended.execution_id
          ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        )
      )::uuid AS earlier_id
    FROM ended
  ), later AS (
    SELECT placed.*, known.failures AS known_failures, known.failing_since AS known_since,
      known.recovered_at AS known_recovered_at,
      row_number() OVER latest_first AS nth,
      count(*) FILTER (WHERE placed.outcome = 'succeeded') OVER latest_first AS successes
    FROM placed
    LEFT JOIN job_health known ON known.job_id = placed.job_id
    WHERE placed.execution_id > coalesce(
        greatest(placed.earlier_id, known.execution_id), '00000000-0000-0000-0000-000000000000'
      )
    WINDOW latest_first AS (PARTITION BY placed.job_id ORDER BY placed.execution_id DESC)
  ), summed AS (
    SELECT later.*, max(later.successes) OVER job > 0 AS succeeded,
      (count(*) FILTER (WHERE later.successes = 0) OVER job)::int AS failures,
      min(later.finished_at) FILTER (WHERE later.successes = 0) OVER job AS since,
      max(later.finished_at) FILTER (WHERE later.outcome = 'succeeded' AND later.attempt > 1) OVER job
        AS recovered_at
    FROM later
    WINDOW job AS (PARTITION BY later.job_id)
  ), written AS (
    INSERT INTO job_health AS health (
      job_id, tenant_id, execution_id, outcome, finished_at, http_status, error_type, error_message, failures,
      failing_since, recovered_at
    )
    SELECT last.job_id, last.tenant_id, last.execution_id, last.outcome, last.finished_at, last.http_status,
      last.error_type, last.error_message,
      last.failures + CASE WHEN last.succeeded THEN 0 ELSE coalesce(last.known_failures, 0) END,
      CASE WHEN last.succeeded THEN last.since ELSE least(last.known_since, last.since) END,
      greatest(last.recovered_at, last.known_recovered_at)
    FROM summed last
    JOIN jobs j ON j.job_id = last.job_id AND j.deleted_at IS NULL
    WHERE last.nth = 1
    ON CONFLICT (job_id) DO UPDATE SET execution_id = excluded.execution_id, outcome = excluded.outcome,
      finished_at = excluded.finished_at, http_status = excluded.http_status, error_type = excluded.error_type,
      error_message = excluded.error_message, failures = excluded.failures,
      failing_since = excluded.failing_since, recovered_at = excluded.recovered_at
  )
  SELECT count(*)::int AS recorded
  FROM ended`

/** Of a job that is deleted. */
export const dropHealth = sql('dropHealth')`
  DELETE FROM job_health h
  USING jobs j
  WHERE h.job_id = $1 AND j.job_id = $1 AND j.deleted_at IS NOT NULL`

export const selectHealth = sql('selectHealth')`
  SELECT ${healthColumns} FROM job_health h WHERE h.tenant_id = $1 AND h.job_id = $2`

export const selectHealthMark = sql('selectHealthMark')`
  SELECT folded_to AS as_of FROM rollup_feeds WHERE feed = 'health'`

const failing = { at: fragment`failing_since`, condition: fragment`h.failing_since IS NOT NULL` }
/** For so many milliseconds after it has recovered. */
const flakyFor = (ms: Fragment) => ({
  at: fragment`recovered_at`,
  condition: fragment`
    h.recovered_at > (SELECT clock_timestamp() - ${ms} * interval '1 millisecond') AND h.failing_since IS NULL`,
})

/** The latest trouble of the tenant $1 first, behind the job $2 with its trouble at `before`. */
const behind = ({ at, condition }: typeof failing, before: Fragment) => fragment`
  SELECT h.job_id, h.${at} AS at
  FROM job_health h
  WHERE h.tenant_id = $1
    AND ${condition}
    AND h.${at} <= from_ms(${before})
    AND (h.${at}, h.job_id) < (from_ms(${before}), $2)
  ORDER BY h.${at} DESC, h.job_id DESC`

const isWanted = (tag: Fragment, text: Fragment, status: Fragment) => fragment`
  ${countsAsFailing}
    AND (${status}::text IS NULL OR c.status = ${status})
    AND (${tag}::text IS NULL OR ${tag} = ANY ((SELECT j.tags FROM jobs j WHERE j.job_id = c.job_id)::text[]))
    AND (${text}::text IS NULL OR strpos((SELECT j.search FROM jobs j WHERE j.job_id = c.job_id), ${text}) > 0)`

// A search looks at no more than $6 rows. $7 to $9: see pageOfJobs; $10: the trouble of the job $2.
const listTroubled = (trouble: typeof failing) =>
  pageOfJobs(
    fragment`
      SELECT seen.job_id AS id, seen.at
      FROM (${behind(trouble, fragment`$10`)} LIMIT $6) seen
      CROSS JOIN LATERAL (SELECT * FROM cursors c WHERE c.job_id = seen.job_id LIMIT 1) c
      WHERE ${isWanted(fragment`$3`, fragment`$4`, fragment`$5`)}
      ORDER BY seen.at DESC, seen.job_id DESC LIMIT $7 + 1`,
    fragment`one.at DESC, one.id DESC`,
  )

export const listFailing = sql('listFailing')`${listTroubled(failing)}`
export const listFlaky = sql('listFlaky')`${listTroubled(flakyFor(fragment`$11`))}`

/** Where a look at so many rows ends; no row: all were seen. */
export const selectFailingEnd = sql('selectFailingEnd')`
  ${behind(failing, fragment`$3`)} OFFSET $4 LIMIT 1`
export const selectFlakyEnd = sql('selectFlakyEnd')`
  ${behind(flakyFor(fragment`$5`), fragment`$3`)} OFFSET $4 LIMIT 1`

const countTroubled = ({ condition }: typeof failing) => fragment`
  SELECT count(*) AS seen, count(*) FILTER (WHERE ${isWanted(fragment`$2`, fragment`$3`, fragment`$4`)}) AS total
  FROM (SELECT h.job_id FROM job_health h WHERE h.tenant_id = $1 AND ${condition} LIMIT $5) seen
  CROSS JOIN LATERAL (SELECT * FROM cursors c WHERE c.job_id = seen.job_id LIMIT 1) c`

export const countFailing = sql('countFailing')`${countTroubled(failing)}`
export const countFlaky = sql('countFlaky')`${countTroubled(flakyFor(fragment`$6`))}`

/** Of a job (j). Only a job with failures costs more than a look at its health. */
const doesNotFail = fragment`
  NOT coalesce(
    (
      SELECT ${countsAsFailing}
      FROM job_health h
      JOIN cursors c ON c.job_id = h.job_id
      WHERE h.job_id = j.job_id AND h.failing_since IS NOT NULL LIMIT 1
    ),
    false
  )`

// The jobs that do not fail, newest first. The parameters are the ones of listJobs.
export const listOthers = sql('listOthers')`${pageOfJobs(fragment`
  SELECT j.job_id AS id
  FROM (
    SELECT job_id, tags, search
    FROM jobs
    WHERE tenant_id = $1 AND job_id < $2 AND deleted_at IS NULL
    ORDER BY job_id DESC LIMIT $6
  ) j
  WHERE ($3::text IS NULL OR $3 = ANY (j.tags))
    AND ($4::text IS NULL OR strpos(j.search, $4) > 0)
    AND ${doesNotFail}
  ORDER BY j.job_id DESC OFFSET $5 LIMIT $7 + 1`)}`

export const listOthersByStatus = sql('listOthersByStatus')`${pageOfJobs(fragment`
  SELECT j.job_id AS id
  FROM (
    SELECT job_id
    FROM cursors
    WHERE tenant_id = $1 AND job_id < $2 AND status = $10
    ORDER BY job_id DESC LIMIT $6
  ) j
  WHERE ($3::text IS NULL OR $3 = ANY ((SELECT tags FROM jobs WHERE job_id = j.job_id)::text[]))
    AND ($4::text IS NULL OR strpos((SELECT search FROM jobs WHERE job_id = j.job_id), $4) > 0)
    AND ${doesNotFail}
  ORDER BY j.job_id DESC OFFSET $5 LIMIT $7 + 1`)}`
