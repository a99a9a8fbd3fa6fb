// From a request to a job that can be created: its first version and its first slot.
import type { JobRequest } from '@carillon/contract/job.ts'
import type { JobVersion } from '../../domain/jobs/job.ts'
import type { Calendars } from '../../domain/schedule/exclusions.ts'
import { type CompiledSchedule, isExcluded, nextSlot } from '../../domain/schedule/next-run.ts'
import { refuse } from '../../domain/schedule/schedule-error.ts'
import { misfireWindowMs } from '../../domain/scheduling/misfire.ts'
import type { Tier } from '../../domain/tenants/tenant.ts'
import { type EpochMs, toRfc3339 } from '../../lib/time/epoch.ts'
import type { NewJob } from '../../ports/jobs.ts'
import { refuseField } from '../http/problem.ts'
import { revealValues } from './job-patch.ts'
import { refuseSchedule } from './schedule-refusal.ts'
import { defineJob, pointerToTime, refuseOver } from './validate-definition.ts'
import type { CheckTarget } from './validate-execution.ts'

export interface NewJobContext {
  jobId: string
  tenantId: string
  tier: Tier
  /** The name of the calling key. */
  by: string
  now: EpochMs
  /** The calendars that the request may name. Default none. */
  calendars?: Calendars
  /** Default: every target may be called. */
  checkTarget?: CheckTarget
  /** Called when the job runs at once: its execution and lane. */
  enqueue: () => { executionId: string; lane: string }
}

/** Throws the refusal of an invalid request. */
export function planJob(given: JobRequest, context: NewJobContext): NewJob {
  const { jobId, tenantId, tier, now, calendars = {}, checkTarget = () => null } = context
  const request = revealValues(given, null)
  const defined = defineJob(request, {
    ...{ jobId, tenantId, tier, version: 1, anchorAt: now },
    ...{ calendars, checkTarget },
  })
  const { definition, compiled } = defined
  const slot = compiled === null ? null : firstSlot({ definition, compiled }, request, now)
  const isImmediate = definition.schedule.type === 'IMMEDIATE'
  const immediate = isImmediate && slot !== null ? { ...context.enqueue(), slot } : null
  const isDependent = definition.dependsOn.length > 0
  return {
    ...definition,
    version: 1,
    key: request.key ?? null,
    createdAt: now,
    createdBy: context.by,
    status: immediate === null ? 'ACTIVE' : 'COMPLETED',
    slotAt: immediate === null && !isDependent ? slot : null,
    immediate,
  }
}

function firstSlot(
  { compiled, definition }: { compiled: CompiledSchedule; definition: JobVersion },
  request: JobRequest,
  now: EpochMs,
): EpochMs {
  const slot = nextSlot(compiled, compiled.kind === 'once' ? (-1 as EpochMs) : now)
  if (slot === null) throw refuseOver(request)
  if (definition.schedule.type === 'IMMEDIATE' && isExcluded(compiled, slot)) {
    const field = 'exclusions'
    throw refuseSchedule(refuse('NEVER_MATCHES', 'An exclusion skips this moment.', { field }).error, request)
  }
  const windowMs = misfireWindowMs(compiled, definition.misfireWindowSeconds)
  if (definition.schedule.type === 'ONE_TIME' && slot < now - windowMs) {
    const detail = `is ${toRfc3339(slot)}, more than ${windowMs / 1_000} s ago`
    throw refuseField(pointerToTime(request), detail, 'SCHEDULED_TIME_TOO_OLD')
  }
  return slot
}
