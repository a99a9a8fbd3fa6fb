// The statements on calendars. Names are compared as bytes, so that a list has one order on every server.
import { fragment, sql } from '../../lib/sql.ts'

const columns = fragment`
  calendar.name, calendar.description, calendar.entries, calendar.revision, calendar.created_at,
  calendar.created_by, calendar.updated_at, calendar.updated_by`

export const selectCalendar = sql('selectCalendar')`
  SELECT ${columns} FROM calendars calendar WHERE calendar.tenant_id = $1 AND calendar.name = $2`

// $3: items of the page, $4: its bytes.
export const selectCalendars = sql('selectCalendars')`
  SELECT ${columns}, calendar.picked_count
  FROM (
    SELECT picked.*, count(*) OVER () AS picked_count, row_number() OVER in_order AS nth,
      sum(
        600 + octet_length(json_build_array(picked.name, picked.description, picked.entries)::text)
      ) OVER in_order AS bytes
    FROM (
      SELECT *
      FROM calendars one
      WHERE one.tenant_id = $1 AND one.name COLLATE "C" > $2
      ORDER BY one.name COLLATE "C" LIMIT $3::int + 1
    ) picked
    WINDOW in_order AS (ORDER BY picked.name COLLATE "C")
  ) calendar
  WHERE calendar.nth <= $3 AND (calendar.nth = 1 OR calendar.bytes <= $4)
  ORDER BY calendar.nth`

export const countCalendars = sql('countCalendars')`
  SELECT count(*) AS total FROM calendars WHERE tenant_id = $1`

export const resolveCalendars = sql('resolveCalendars')`
  SELECT name, entries FROM calendars WHERE tenant_id = $1 AND name = ANY ($2::text[])`

/** One after the other, so that their number holds. */
export const lockCalendars = sql('lockCalendars')`
  SELECT pg_advisory_xact_lock(7420, hashtext('calendars of ' || $1::uuid))`

export const upsertCalendar = sql('upsertCalendar')`
  INSERT INTO calendars AS calendar (
    tenant_id, name, description, entries, revision, created_at, created_by, updated_at, updated_by
  )
  SELECT $1, $2, $3, $4, 1, m.at, $5, m.at, $5
  FROM (SELECT clock_ms() AS at) m
  ON CONFLICT (tenant_id, name) DO UPDATE SET description = excluded.description,
    entries = excluded.entries, revision = calendar.revision + 1, updated_at = excluded.updated_at,
    updated_by = excluded.updated_by
  RETURNING ${columns}`

/** Jobs (j) with a current version that names the calendar. */
const naming = fragment`
  job_versions v
  JOIN jobs j ON j.job_id = v.job_id AND j.version = v.version
  WHERE v.calendars @> ARRAY[$2::text] AND j.tenant_id = $1 AND j.deleted_at IS NULL`

// A change record that no scheduler has taken yet is rewritten, as by a change of the job: this locks it, so it is not
// taken before we commit. In the order of ids: two calendars of the same job may change at once. A job due later than
// $3 milliseconds from now has not been planned by any scheduler yet.
export const noteCalendar = sql('noteCalendar')`
  INSERT INTO changes (partition_id, job_id)
  SELECT c.partition_id, c.job_id
  FROM (SELECT j.job_id FROM ${naming}) naming
  CROSS JOIN LATERAL (SELECT * FROM cursors c WHERE c.job_id = naming.job_id LIMIT 1) c
  WHERE c.status = 'ACTIVE' AND c.due_at < clock_timestamp() + $3 * interval '1 millisecond'
  ORDER BY c.job_id
  ON CONFLICT (partition_id, job_id) DO UPDATE SET job_id = excluded.job_id`

// A job created at this very moment may still name the calendar, which is then empty for that job.
export const deleteCalendar = sql('deleteCalendar')`
  WITH used AS MATERIALIZED (SELECT 1 FROM ${naming} LIMIT 1), gone AS (
    DELETE FROM calendars calendar
    WHERE calendar.tenant_id = $1 AND calendar.name = $2 AND NOT EXISTS (SELECT FROM used)
    RETURNING 1
  )
  SELECT EXISTS (SELECT FROM gone) AS deleted, EXISTS (SELECT FROM used) AS used,
    EXISTS (SELECT FROM calendars calendar WHERE calendar.tenant_id = $1 AND calendar.name = $2) AS found`
