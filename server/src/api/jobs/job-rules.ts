// The rules of a job that its schema cannot express, for a body that the schema refuses: a wrong cron expression is told
// beside an unknown field. Bodies that the schema allows are judged when the job is planned.
import type { JobRequest } from '@carillon/contract/job.ts'
import type { FastifyContextConfig } from 'fastify'
import { calendarNames } from '../../domain/schedule/exclusions.ts'
import { isObject } from '../../lib/is-object.ts'
import type { World } from '../../ports/world.ts'
import { findRefusals } from './validate-definition.ts'
import type { CheckTarget } from './validate-execution.ts'

export interface JobRuleDeps extends Pick<World, 'clock'> {
  checkTarget: CheckTarget
}

/** No job is made, so its id matters to nothing. */
const anyId = '00000000-0000-0000-0000-000000000000'

/** For the routes with a job as their body. */
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

/** Whether the calendars exist is not known here. */
function namesCalendars({ schedule }: JobRequest): boolean {
  return typeof schedule === 'object' && calendarNames(schedule) !== null
}
