// The statements on `workers`.
import { fragment, sql } from '../../lib/sql.ts'

export const insertWorker = sql('insertWorker')`
  INSERT INTO workers (worker_id, tenant_id, host, version, labels, executors, handlers, capacity, generation)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
  ON CONFLICT (worker_id) DO NOTHING`

export const beatWorker = sql('beatWorker')`
  UPDATE workers SET beats = beats + 1, status = $2, current_load = $3, generation = $4,
    beat_at = date_trunc('milliseconds', clock_timestamp())
  WHERE worker_id = $1`

export const deleteWorker = sql('deleteWorker')`
  DELETE FROM workers WHERE worker_id = $1`

export const selectBeats = sql('selectBeats')`
  SELECT worker_id, beats FROM workers ORDER BY worker_id LIMIT $1`

// $1: after how many milliseconds without a beat it is dead.
const columns = fragment`
  worker_id, tenant_id, host, version, labels, executors, handlers, capacity, current_load, registered_at,
    beat_at,
  CASE WHEN beat_at < clock_timestamp() - $1 * interval '1 millisecond' THEN 'DEAD' ELSE status END AS status`

export const selectWorkers = sql('selectWorkers')`
  SELECT ${columns} FROM workers WHERE $3::uuid IS NULL OR tenant_id = $3
    ORDER BY registered_at, worker_id LIMIT $2`

export const selectWorker = sql('selectWorker')`
  SELECT ${columns} FROM workers WHERE tenant_id = $2 AND worker_id = $3`
