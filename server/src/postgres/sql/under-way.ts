// Unended executions, as every list of executions reads them: simple first attempts in batches (b, batched), the others in
// `live` (l).
import { type Fragment, fragment } from '../../lib/sql.ts'

export const batchedStatus = fragment`
  CASE
    WHEN b.worker_id IS NULL THEN 'PENDING'
    WHEN b.cancels ? batched.position::text THEN 'CANCELLING'
    ELSE 'RUNNING'
  END AS status`

export const unnestBatches = fragment`
  CROSS JOIN LATERAL unnest(
    b.positions, b.job_ids, b.versions, b.slots_ms
  ) AS batched(position, job_id, version, slot_ms)`

// Executions of a job in batches, newest first. $1 job, $2 before; `batches`: the batches that may contain some. A job
// may have a million waiting, a hundred per batch: in this order a LIMIT reads no more than it returns.
export const enqueuedOfJob = (batches: Fragment): Fragment => fragment`
  FROM (SELECT * FROM ${batches} WHERE batch_id <= $2::uuid ORDER BY batch_id DESC) b ${unnestBatches}
  WHERE batched.job_id = $1 AND execution_at(b.batch_id, batched.position) < $2::uuid
  ORDER BY b.batch_id DESC, batched.position DESC`

export const batchesOfJob = fragment`(SELECT * FROM batches WHERE job_ids @> ARRAY[$1::uuid]) o`

export const statusOfLive = fragment`
  CASE
    WHEN l.cancelled_at IS NOT NULL THEN 'CANCELLING'
    WHEN l.state IN ('running', 'awaiting') THEN 'RUNNING'
    WHEN l.state = 'blocked' THEN 'WAITING_DEPENDENCIES'
    WHEN l.state = 'retrying' OR l.attempt > 0 THEN 'RETRYING'
    ELSE 'PENDING'
  END`

// $1 job, $2 before. In two parts, as the indexes are.
export const liveOfJob = fragment`(
    SELECT * FROM live WHERE job_id = $1 AND execution_id < $2::uuid AND state <> 'blocked'
    UNION ALL
    SELECT * FROM live WHERE job_id = $1 AND execution_id < $2::uuid AND state = 'blocked'
  ) l`
