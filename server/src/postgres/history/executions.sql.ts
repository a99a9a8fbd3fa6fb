// The statements on one execution. Lists are in search.sql.ts, slots in slot-ledger.sql.ts, statistics in job-stats.sql.ts.
import { sql } from '../../lib/sql.ts'

// $3: the execution's id tells when it was made, and nothing of it was recorded before.
export const selectExecution = sql('selectExecution')`
  SELECT (
      SELECT json_build_object(
          'jobId', batched.job_id, 'version', batched.version, 'claimed', b.worker_id IS NOT NULL,
          'workerId', b.worker_id, 'enqueuedAt', to_ms(b.enqueued_at), 'startedAt', to_ms(b.claimed_at),
          'slot', batched.slot_ms, 'cancelled', coalesce(b.cancels ? batched.position::text, false),
          'kind', b.kind, 'payloadOverride', (b.payloads -> batched.position)::text
        )
      FROM batches b
      CROSS JOIN LATERAL unnest(
        b.positions, b.job_ids, b.versions, b.slots_ms
      ) AS batched(position, job_id, version, slot_ms)
      JOIN jobs j ON j.job_id = batched.job_id AND j.tenant_id = $1
      WHERE b.batch_id = batch_of($2) AND execution_at(b.batch_id, batched.position) = $2
    ) AS batch,
    (
      SELECT json_build_object(
          'jobId', l.job_id, 'version', l.version, 'kind', l.kind, 'state', l.state,
          'workerId', coalesce(l.worker_id, l.caller_id), 'enqueuedAt', to_ms(l.enqueued_at),
          'slot', to_ms(l.slot), 'attempt', l.attempt, 'heardAt', to_ms(l.heard_at), 'progress', l.progress,
          'progressText', l.progress_text, 'checkpoint', l.checkpoint::text,
          'startedAt', to_ms(l.started_at), 'retryAt', to_ms(l.ready_at),
          'cancelled', l.cancelled_at IS NOT NULL, 'idempotencyKey', l.idempotency_key,
          'retryOf', l.retry_of, 'runId', l.run_id, 'payloadOverride', l.payload_override::text
        )
      FROM live l
      WHERE l.execution_id = $2 AND l.tenant_id = $1
    ) AS live,
    (
      SELECT json_agg(
          json_build_object(
            'attempt', a.attempt, 'final', a.final, 'jobId', a.job_id, 'version', a.version, 'kind', a.kind,
            'outcome', a.outcome, 'slot', to_ms(a.slot), 'enqueuedAt', to_ms(a.enqueued_at),
            'startedAt', to_ms(a.started_at), 'finishedAt', to_ms(a.finished_at),
            'durationMs', a.duration_ms, 'workerId', a.worker_id, 'httpStatus', a.http_status,
            'errorType', a.error_type, 'errorMessage', a.error_message, 'preview', a.preview,
            'deadLetter', a.dead_letter, 'payloadOverride', a.payload_override::text,
            'idempotencyKey', a.idempotency_key, 'retryOf', a.retry_of, 'runId', a.run_id,
            'skipReason', a.skip_reason,
            'cpuMs', a.cpu_ms, 'bytesSent', a.bytes_sent, 'bytesReceived', a.bytes_received
          ) ORDER BY a.attempt, a.final
        )
      FROM attempts a
      WHERE a.execution_id = $2
        AND a.tenant_id = $1
        AND a.recorded_at >= least($3::timestamptz, now() - $4 * interval '1 millisecond')
        AND a.recorded_at < now() + interval '1 hour'
    ) AS attempts,
    (
      SELECT tier.history_days FROM tenants t JOIN tiers tier ON tier.tier = t.tier WHERE t.tenant_id = $1
    ) AS history_days,
    clock_ms() AS now`

export const selectVersion = sql('selectVersion')`
  SELECT v.execution, v.metadata, j.name AS job_name
  FROM job_versions v
  JOIN jobs j ON j.job_id = v.job_id
  WHERE v.job_id = $1 AND v.version = $2`

/** No row: the tenant has no such job. */
export const selectRetention = sql('selectRetention')`
  SELECT tier.history_days
  FROM jobs j
  JOIN tenants t ON t.tenant_id = j.tenant_id
  JOIN tiers tier ON tier.tier = t.tier
  WHERE j.tenant_id = $1 AND j.job_id = $2`
