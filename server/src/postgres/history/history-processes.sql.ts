// The statements on processes with the role `history`.
import { sql } from '../../lib/sql.ts'

// The row of a process that died goes with the beat of another one, an hour later. The commit need not reach the disk: a
// lost beat is followed by the next one.
export const beatHistory = sql('beatHistory')`
  WITH gone AS (
    DELETE FROM history_processes WHERE process_id <> $1 AND beat_at < clock_ms() - interval '1 hour'
  )
  INSERT INTO history_processes (process_id, beat_at)
  SELECT $1, clock_ms()
  FROM set_config('synchronous_commit', 'off', true)
  ON CONFLICT (process_id) DO UPDATE SET beat_at = excluded.beat_at`

export const deleteHistory = sql('deleteHistory')`DELETE FROM history_processes WHERE process_id = $1`

export const selectHistory = sql('selectHistory')`
  SELECT process_id
  FROM history_processes
  WHERE beat_at > clock_ms() - $1 * interval '1 millisecond'
  ORDER BY process_id`
