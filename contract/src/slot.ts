// The slot ledger: the fate of every slot of a job. And one sentence why it ran or did not.

import { EXECUTION_STATUSES, SKIP_REASONS, SLOT_ORDERS } from './constants.ts'
import { pageOf, pageParameters } from './pagination.ts'
import {
  describedObject,
  instant,
  oneOf,
  oneOfWithDefault,
  optionalText,
  strictObject,
  time,
  uuid,
} from './shapes.ts'
import * as Type from './type.ts'

/** The statuses of executions, and one for slots still to come. */
export const SLOT_STATUSES = [...EXECUTION_STATUSES, 'SCHEDULED'] as const
export type SlotStatus = (typeof SLOT_STATUSES)[number]

/** Why it did not run; owed: it is late and waits for its turn. */
export const SLOT_REASONS = [...SKIP_REASONS, 'owed'] as const
export type SlotReason = (typeof SLOT_REASONS)[number]

/** Of the slot or execution that the answer is about, else of the job; NO_SLOT: the job has no slot there. */
export const WHY_STATUSES = [...SLOT_STATUSES, 'PAUSED', 'COMPLETED', 'DELETED', 'NO_SLOT'] as const
export type WhyStatus = (typeof WHY_STATUSES)[number]

/** Reasons that hold back a waiting execution, besides the reasons of slots. */
export const WHY_REASONS = [
  ...SLOT_REASONS,
  'concurrency_limit',
  'concurrency_key',
  'no_worker',
  'capacity',
  'tenant_share',
  'concurrent_executions',
  'target_busy',
  'target_rate',
  'suspect',
  'queued',
  'after_completion',
  'dependency',
] as const
export type WhyReason = (typeof WHY_REASONS)[number]

export const SlotListQuery = strictObject({
  from: Type.Optional(
    time('The first instant (RFC 3339), or UTC day (YYYY-MM-DD); by default 24 h before `to`.'),
  ),
  to: Type.Optional(
    time(
      'The last instant, or UTC day with all its hours; it is included. By default now. At most 366 days after `from`.',
    ),
  ),
  order: Type.Optional(
    oneOfWithDefault(SLOT_ORDERS, 'asc', 'asc: the oldest slot first; desc: the latest first.'),
  ),
  ...pageParameters,
})
export type SlotListQuery = Type.Static<typeof SlotListQuery>

const SlotItem = strictObject({
  scheduled_time: instant('The slot.'),
  status: oneOf(
    SLOT_STATUSES,
    'Status of its execution. SKIPPED: it has none, or one that got no budget in time. SCHEDULED: its time has not come yet.',
  ),
  reason: Type.Optional(
    oneOf(
      SLOT_REASONS,
      'Why it did not run. owed: it is late and still has to run. quota: its tenant had used up a limit of its tier.',
    ),
  ),
  execution_id: optionalText({ format: 'uuid' }),
})
export type SlotItem = Type.Static<typeof SlotItem>

export const SlotList = pageOf('A page of the ledger, in the order asked for.', {
  slots: Type.Array(SlotItem),
})
export type SlotList = Type.Static<typeof SlotList>

export const WhyQuery = strictObject({
  at: Type.Optional(time('An instant (RFC 3339), to the second. By default now.')),
})
export type WhyQuery = Type.Static<typeof WhyQuery>

export const WhyReply = describedObject('The answer.', {
  answer: Type.String({ description: 'For people. Its wording may change.' }),
  at: instant('The instant of the question.'),
  job_id: uuid,
  status: oneOf(
    WHY_STATUSES,
    'Status of the slot or execution that the answer is about, else of the job. NO_SLOT: the job has no slot there.',
  ),
  reason: Type.Optional(oneOf(WHY_REASONS)),
  scheduled_time: Type.Optional(instant('The slot that the answer is about.')),
  execution_id: optionalText({ format: 'uuid', description: 'The execution that the answer is about.' }),
})
export type WhyReply = Type.Static<typeof WhyReply>
