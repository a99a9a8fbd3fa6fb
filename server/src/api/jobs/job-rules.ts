// The rules of a job that its schema cannot express, for a body that the schema refuses: a wrong cron expression is told
// beside an unknown field. Bodies that the schema allows are judged when the job is planned.
import { EXECUTOR_FACTS } from '@carillon/contract/executors/list.ts'
import type { JobRequest } from '@carillon/contract/job.ts'
import type { FastifyContextConfig } from 'fastify'
import { calendarNames } from '../../domain/schedule/exclusions.ts'
import { isObject } from '../../lib/is-object.ts'
import type { World } from '../../ports/world.ts'
import { mergePatch } from './job-patch.ts'
import { findRefusals } from './validate-definition.ts'
import type { CheckTarget } from './validate-execution.ts'

export interface JobRuleDeps extends Pick<World, 'clock'> {
  checkTarget: CheckTarget
}

/** No job is made, so its id matters to nothing. */
const anyId = '00000000-0000-0000-0000-000000000000'

/** For the routes with a whole job as their body. */
export function jobRules({ clock, checkTarget }: JobRuleDeps): NonNullable<FastifyContextConfig['rules']> {
  return ({ body, caller, tenantId }, isSound) => {
    if (!isObject(body)) return []
    const request = body as unknown as JobRequest
    const { tier } = caller
    const anchorAt = clock.databaseNow()
    const context = { jobId: anyId, tenantId, tier, version: 1, anchorAt, calendars: {}, checkTarget }
    return findRefusals(
      request,
      context,
      (pointer) => isSound(pointer) && !(pointer === '/schedule' && namesCalendars(request)),
    )
  }
}

/**
 * For a change. The job that it changes is not known here, so only parts are judged that say everything by themselves, and
 * not by the tier: a job may keep values beyond its limits.
 */
export function patchRules({ clock, checkTarget }: JobRuleDeps): NonNullable<FastifyContextConfig['rules']> {
  return ({ body, caller, tenantId }, isSound) => {
    if (!isObject(body)) return []
    const given = mergePatch({}, body) as JobRequest
    const tier = { ...caller.tier, ...withoutLimits }
    const anchorAt = clock.databaseNow()
    const context = { jobId: anyId, tenantId, tier, version: 1, anchorAt, calendars: {}, checkTarget }
    return findRefusals(given, context, (pointer) => isSound(pointer) && isWhole(pointer, given))
  }
}

const withoutLimits = {
  priorityBest: 1,
  retriesMax: Number.POSITIVE_INFINITY,
  payloadBytesMax: Number.POSITIVE_INFINITY,
  intervalSecondsMin: 0,
  timeoutSecondsMax: null,
}

/** Whether a part does not depend on the rest of it, which the job has. */
function isWhole(pointer: string, given: JobRequest): boolean {
  const { schedule, execution } = given
  if (pointer === '/schedule') return namesSlots(schedule) && !namesCalendars(given)
  if (pointer !== '/execution') return true
  const type = execution?.type ?? 'http'
  return isObject(execution) && execution[EXECUTOR_FACTS[type].target] !== undefined
}

function namesSlots(schedule: JobRequest['schedule']): boolean {
  if (!isObject(schedule)) return schedule !== undefined
  const names = ['cron_expression', 'interval', 'every_seconds', 'scheduled_time'] as const
  return names.some((name) => schedule[name] !== undefined)
}

/** Whether the calendars exist is not known here. */
function namesCalendars({ schedule }: JobRequest): boolean {
  return typeof schedule === 'object' && calendarNames(schedule) !== null
}
