// A tier as clients see it and as they send it.
import type { Tier, TierRequest } from '@carillon/contract/tenant.ts'
import type * as domain from '../../domain/tenants/tenant.ts'

export function toTier(tier: domain.Tier): Tier {
  return {
    name: tier.tier,
    weight: tier.weight,
    history_days: tier.historyDays,
    payload_bytes_max: tier.payloadBytesMax,
    retries_max: tier.retriesMax,
    interval_seconds_min: tier.intervalSecondsMin,
    priority_best: tier.priorityBest,
    dead_letters: tier.deadLetters,
    requests_per_second: tier.requestsPerSecond,
    host_calls_per_second: tier.hostCallsPerSecond,
    active_jobs_max: tier.activeJobsMax,
    timeout_seconds_max: tier.timeoutSecondsMax,
    executions_per_minute: tier.executionsPerMinute,
    concurrent_executions_max: tier.concurrentExecutionsMax,
    waiting_executions_max: tier.waitingExecutionsMax,
    storage_bytes_max: tier.storageBytesMax,
  }
}

export function fromTierRequest(name: string, request: TierRequest): domain.Tier {
  return {
    tier: name,
    weight: request.weight,
    historyDays: request.history_days,
    payloadBytesMax: request.payload_bytes_max,
    retriesMax: request.retries_max,
    intervalSecondsMin: request.interval_seconds_min,
    priorityBest: request.priority_best,
    deadLetters: request.dead_letters,
    requestsPerSecond: request.requests_per_second,
    hostCallsPerSecond: request.host_calls_per_second,
    activeJobsMax: request.active_jobs_max,
    timeoutSecondsMax: request.timeout_seconds_max,
    executionsPerMinute: request.executions_per_minute,
    concurrentExecutionsMax: request.concurrent_executions_max,
    waitingExecutionsMax: request.waiting_executions_max,
    storageBytesMax: request.storage_bytes_max,
  }
}
