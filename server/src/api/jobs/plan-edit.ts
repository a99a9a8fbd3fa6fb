// From a request to a changed job: its next version, or nothing if the request equals the job. Decided while the job is
// locked.
import { isDeepStrictEqual } from 'node:util'
import type { JobRequest } from '@carillon/contract/job.ts'
import { asGiven } from '../../domain/jobs/clock-rule.ts'
import type { JobVersion, StoredSchedule } from '../../domain/jobs/job.ts'
import { editJob, isSameSchedule, type JobState, type JobWrite } from '../../domain/jobs/job-change.ts'
import { isAfterCompletion } from '../../domain/schedule/after-completion.ts'
import { compileStored } from '../../domain/schedule/compile-schedule.ts'
import type { Calendars } from '../../domain/schedule/exclusions.ts'
import { emptyCalendars } from '../../domain/schedule/exclusions.ts'
import { nextSlot } from '../../domain/schedule/next-run.ts'
import { storedBytesOf } from '../../domain/tenants/storage.ts'
import type { Tier } from '../../domain/tenants/tenant.ts'
import { type EpochMs, toRfc3339 } from '../../lib/time/epoch.ts'
import type { ApiError } from '../http/api-error.ts'
import { refuseField } from '../http/problem.ts'
import { revealValues } from './job-patch.ts'
import {
  type DefinedJob,
  type DefinitionContext,
  defineJob,
  findRefusals,
  pointerToTime,
  refuseOver,
} from './validate-definition.ts'
import type { CheckTarget } from './validate-execution.ts'

export interface EditContext {
  /** The name of the calling key. */
  by: string
  tier: Tier
  checkTarget: CheckTarget
  /** Called with the bytes that a new version takes. Throws when there is no room. */
  spendStorage: (bytes: number) => void
  /** The calendars that the request may name. Calendars that the job names already may stay. */
  calendars: Calendars
}

/** Null: nothing changes. Throws the refusal of an invalid request. */
export function planEdit(state: JobState, given: JobRequest, context: EditContext): JobWrite | null {
  const request = revealValues(given, state.execution)
  const defined = defineAnew(state, request, context)
  const { definition } = defined
  const key = request.key ?? null
  if (key === state.key && isSameDefinition(state, definition)) return null
  if (!isSameSchedule(state, definition)) checkNewSchedule(state, request, defined)
  if (context.tier.storageBytesMax !== null) spendGrowth(state, definition, context)
  return editJob(state, { by: context.by, key, version: definition })
}

/** An edit that makes the definition no larger is never refused: a tenant beyond the limit may correct its jobs. */
function spendGrowth(state: JobState, definition: JobVersion, { spendStorage }: EditContext): void {
  const bytes = storedBytesOf(definition)
  if (bytes > storedBytesOf(state)) spendStorage(bytes)
}

/** The refusals of a changed job that its schema refuses too, by the rules for fields without a mistake. */
export function findEditRefusals(
  state: JobState,
  request: JobRequest,
  context: EditContext,
  isSound: (pointer: string) => boolean,
): readonly ApiError[] {
  return findRefusals(request, definitionContext(state, context), isSound)
}

/** A new interval counts from now on; any other edit keeps the grid. */
function defineAnew(state: JobState, request: JobRequest, given: EditContext): DefinedJob {
  const { now } = state
  const context = definitionContext(state, given)
  const kept = withSameRule(state, defineJob(request, context))
  if (!hasNewInterval(state.schedule, kept.definition.schedule)) return kept
  return defineJob(request, { ...context, anchorAt: now })
}

function definitionContext(
  state: JobState,
  { tier, calendars: given, checkTarget }: EditContext,
): DefinitionContext {
  const { jobId, tenantId, anchorAt } = state
  const calendars = { ...emptyCalendars([state.schedule]), ...given }
  const version = state.version + 1
  return { jobId, tenantId, tier, version, anchorAt, calendars, checkTarget, former: state }
}

/** An edit that leaves the schedule alone leaves its clock rule alone too: late slots would be skipped with it. */
function withSameRule(state: JobState, defined: DefinedJob): DefinedJob {
  const { definition } = defined
  const isSame = state.impliedDst === null && isDeepStrictEqual(asGiven(definition), state.schedule)
  if (!isSame) return defined
  return { ...defined, definition: { ...definition, schedule: state.schedule, impliedDst: null } }
}

function hasNewInterval(before: StoredSchedule, after: StoredSchedule): boolean {
  if (after.type !== 'INTERVAL') return false
  const names = ['type', 'interval', 'every_seconds'] as const
  const hasNew = names.some((name) => before[name] !== after[name])
  return hasNew || isAfterCompletion(before) !== isAfterCompletion(after)
}

function isSameDefinition(state: JobState, definition: JobVersion): boolean {
  const { version: _version, ...rest } = definition
  return Object.entries(rest).every(([name, value]) =>
    isDeepStrictEqual(value, state[name as keyof JobVersion]),
  )
}

function checkNewSchedule(state: JobState, request: JobRequest, { definition, compiled }: DefinedJob): void {
  if (compiled === null) return
  const { type } = definition.schedule
  if (type === 'IMMEDIATE')
    throw refuseChange('/schedule', 'cannot become IMMEDIATE: the job is there already')
  if (type !== 'ONE_TIME') {
    if (nextSlot(compiled, state.now) === null) throw refuseOver(request)
    return
  }
  const slot = nextSlot(compiled, beforeAll)
  if (slot === null) throw refuseOver(request)
  if (slot <= state.now && slot !== storedTime(state)) {
    throw refuseChange(pointerToTime(request), `is ${toRfc3339(slot)}, which is over`)
  }
}

/** The time of a ONE_TIME job as it is. */
function storedTime(state: JobState): EpochMs | null {
  const stored = state.schedule.type === 'ONE_TIME' ? compileStored(state) : null
  return stored === null ? null : nextSlot(stored, beforeAll)
}

const beforeAll = -1 as EpochMs

function refuseChange(pointer: string, detail: string): ApiError {
  return refuseField(pointer, detail, 'SCHEDULE_NOT_CHANGEABLE')
}
