// The statements on schedulers and the partitions they hold.
import { sql } from '../../lib/sql.ts'

export const insertScheduler = sql('insertScheduler')`
  INSERT INTO schedulers (scheduler_id, generation) VALUES ($1, $2) ON CONFLICT DO NOTHING`

export const beatScheduler = sql('beatScheduler')`
  UPDATE schedulers SET beats = beats + 1 WHERE scheduler_id = $1`

/** Its partitions are free at once, by the foreign key. */
export const deleteScheduler = sql('deleteScheduler')`DELETE FROM schedulers WHERE scheduler_id = $1`

export const deleteSilentScheduler = sql('deleteSilentScheduler')`
  DELETE FROM schedulers WHERE scheduler_id = $1 AND beats = $2`

export const selectPartitions = sql('selectPartitions')`
  SELECT scheduler_id, beats, NULL::smallint AS partition_id
  FROM schedulers
  UNION ALL
  SELECT scheduler_id, NULL, partition_id
  FROM partitions`

export const takePartitions = sql('takePartitions')`
  WITH free AS MATERIALIZED (
    SELECT partition_id
    FROM partitions
    WHERE partition_id = ANY ($2::smallint[]) AND scheduler_id IS NULL
    ORDER BY partition_id FOR UPDATE SKIP LOCKED
  )
  UPDATE partitions
  SET scheduler_id = $1
  FROM free
  WHERE partitions.partition_id = free.partition_id
  RETURNING partitions.partition_id`

export const releasePartitions = sql('releasePartitions')`
  UPDATE partitions SET scheduler_id = NULL WHERE scheduler_id = $1 AND partition_id = ANY ($2::smallint[])`
