// The statements that read the planned slots of jobs.
import { sql } from '../../lib/sql.ts'
import { calendarsOfVersion } from '../sql/fragments.ts'

export const selectPlanned = sql('selectPlanned')`
  SELECT c.job_id, c.slot_at, c.runs, v.name, v.schedule, v.anchor_at, ${calendarsOfVersion} AS calendars
  FROM (
    SELECT *
    FROM cursors c
    WHERE c.tenant_id = $1 AND c.status = 'ACTIVE' AND c.job_id > $2 AND num_nulls(c.slot_at) = 0
    ORDER BY c.job_id LIMIT $3
  ) c
  CROSS JOIN LATERAL (
    SELECT * FROM job_versions v WHERE v.job_id = c.job_id AND v.version = c.version LIMIT 1
  ) v
  ORDER BY c.job_id`
