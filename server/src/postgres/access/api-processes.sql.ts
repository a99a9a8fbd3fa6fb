// The statements on processes with the role api.
import { sql } from '../../lib/sql.ts'

// The row of a process that died goes with the report of another one, an hour later. The commit need not reach the disk: a
// lost report is followed by the next one. $2 tenants, $3 their requests a second, $4 for how many ms a report counts.
export const reportRequests = sql('reportRequests')`
  WITH gone AS (
    DELETE FROM api_processes WHERE process_id <> $1 AND beat_at < clock_ms() - interval '1 hour'
  ), reported AS (
    INSERT INTO api_processes (process_id, beat_at, tenant_ids, rates)
    SELECT $1, clock_ms(), $2::uuid[], $3::real[]
    FROM set_config('synchronous_commit', 'off', true)
    ON CONFLICT (process_id) DO UPDATE
    SET beat_at = excluded.beat_at, tenant_ids = excluded.tenant_ids, rates = excluded.rates
  )
  SELECT process_id, tenant_ids::text[] AS tenant_ids, rates::float8[] AS rates
  FROM api_processes
  WHERE process_id <> $1 AND beat_at > clock_ms() - $4 * interval '1 millisecond'
  ORDER BY process_id`

export const deleteApiProcess = sql('deleteApiProcess')`DELETE FROM api_processes WHERE process_id = $1`
