// The statements that count the active jobs of tenants with a limit.
import { fragment, sql } from '../../lib/sql.ts'

/** See domain/jobs/active-jobs.ts. */
const activeJobs = fragment`
  (
    (SELECT count(*) FROM cursors c WHERE c.tenant_id = $1 AND c.status = 'ACTIVE') + (
      SELECT count(*) FROM jobs j WHERE j.tenant_id = $1 AND j.resume_at IS NOT NULL
    )
  )::int`

export const selectActiveJobs = sql('selectActiveJobs')`SELECT ${activeJobs} AS used`

/** Counts so many of each kind at most. */
export const countActiveJobs = sql('countActiveJobs')`
  SELECT (
      (SELECT count(*) FROM (
          SELECT FROM cursors c WHERE c.tenant_id = $1 AND c.status = 'ACTIVE' LIMIT $2
        ) active) + (SELECT count(*) FROM (
          SELECT FROM jobs j WHERE j.tenant_id = $1 AND j.resume_at IS NOT NULL LIMIT $2
        ) paused)
    )::int AS used`

// Locked until the commit, so creates of a tenant with a limit are admitted one transaction after the other. $2: a count
// older than so many seconds is taken anew; $3: one that would refuse, when it is older than so many.
export const lockActiveJobs = sql('lockActiveJobs')`
  SELECT used, counted_at < clock_timestamp() - $2 * interval '1 second' AS is_old,
    counted_at < clock_timestamp() - $3 * interval '1 second' AS may_recount
  FROM active_jobs
  WHERE tenant_id = $1 FOR UPDATE`

export const beginActiveJobs = sql('beginActiveJobs')`
  INSERT INTO active_jobs (tenant_id, used, counted_at) VALUES ($1, 0, '-infinity') ON CONFLICT DO NOTHING`

// Under the lock: the statement sees every counted change that was committed before.
export const recountActiveJobs = sql('recountActiveJobs')`
  UPDATE active_jobs
  SET used = ${activeJobs}, counted_at = clock_ms()
  WHERE tenant_id = $1
  RETURNING used`

export const addActiveJobs = sql('addActiveJobs')`
  UPDATE active_jobs SET used = greatest(0, used + $2) WHERE tenant_id = $1`
