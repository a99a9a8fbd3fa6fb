// The statements on `workers`.
import { sql } from '../lib/sql.ts'

export const insertWorker = sql('insertWorker')`
  INSERT INTO workers (worker_id, host, version, labels, capacity) VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (worker_id) DO NOTHING`

export const beatWorker = sql('beatWorker')`
  UPDATE workers SET beats = beats + 1, status = $2, current_load = $3,
    beat_at = date_trunc('milliseconds', clock_timestamp())
  WHERE worker_id = $1`

export const deleteWorker = sql('deleteWorker')`
  DELETE FROM workers WHERE worker_id = $1`

export const selectBeats = sql('selectBeats')`
  SELECT worker_id, beats FROM workers ORDER BY worker_id LIMIT $1`

export const selectWorkers = sql('selectWorkers')`
  SELECT worker_id, host, version, labels, capacity, current_load, registered_at, beat_at,
    CASE WHEN beat_at < clock_timestamp() - $1 * interval '1 millisecond' THEN 'DEAD' ELSE status END AS status
  FROM workers ORDER BY registered_at, worker_id LIMIT $2`
