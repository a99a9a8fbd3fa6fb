// The shapes of a schedule on the wire, and of its preview. Plain JSON Schema: bounds on everything, nothing unknown
// accepted. The meaning of the fields is in docs/schedules.md.

import { SCHEDULE_TYPES } from './constants.ts'
import { expected } from './expected.ts'
import { oneOf, optionalFlag, optionalInteger, optionalText, strict, strictObject, time } from './shapes.ts'
import type { Static } from './type.ts'
import * as Type from './type.ts'

const text = (words: string, description: string, maxLength = 256) =>
  Type.String({ minLength: 1, maxLength, ...expected(words), description })
const said = (maxLength: number) => Type.String({ maxLength })

// One flat object instead of a union: a validator can then name the field that is wrong. Which of them go
// together is the schedule engine's to say.
export const ExclusionSchema = Type.Object(
  {
    date: Type.Optional(time('A whole local day, YYYY-MM-DD; without `from` and `to`.')),
    from: Type.Optional(time('First day or time skipped; with `to`.')),
    to: Type.Optional(time('Last day skipped, or the time it ends; with `from`.')),
    calendar: Type.Optional(
      text(
        'the name of a calendar, such as holidays-de',
        'Name of a calendar of this tenant; without other fields.',
        128,
      ),
    ),
  },
  { ...strict, minProperties: 1, maxProperties: 2 },
)

export const ScheduleObjectSchema = strictObject({
  type: Type.Optional(oneOf(SCHEDULE_TYPES)),
  cron_expression: Type.Optional(
    text(
      'a cron expression of at most 256 characters, such as "0 10 * * *"',
      '5 fields, 6 with seconds first, 7 with a year last, or a macro.',
    ),
  ),
  timezone: Type.Optional(text('an IANA zone such as Europe/Berlin', 'IANA zone. Default UTC.', 64)),
  scheduled_time: Type.Optional(time('When a ONE_TIME schedule runs: a whole second.')),
  interval: Type.Optional(
    text(
      'an ISO 8601 duration such as PT15M, or a repeating interval such as R/2026-01-31T09:00:00Z/P1D',
      'ISO 8601 duration or repeating interval.',
    ),
  ),
  every_seconds: optionalInteger({ minimum: 1, maximum: 315_360_000 }),
  start_at: Type.Optional(time('No slot before this instant; the anchor of an interval.')),
  end_at: Type.Optional(time('No slot after this instant.')),
  max_runs: optionalInteger({
    minimum: 1,
    maximum: 1_000_000_000,
    description: 'Maximum number of slots that run; triggers and skipped slots do not count.',
  }),
  exclusions: Type.Optional(
    Type.Array(ExclusionSchema, {
      maxItems: 100,
      description: 'Days and times at which slots are skipped, in the zone `timezone`.',
    }),
  ),
  dst_gap: Type.Optional(
    oneOf(
      ['run_after', 'skip'],
      'Local times that a clock change skips: one run right after it, or none. Default run_after; skip for a cron that covers all 24 hours.',
    ),
  ),
  dst_fold: Type.Optional(
    oneOf(
      ['first', 'both'],
      'Local times that happen twice: the first time only, or both. Default first; both for a cron that covers all 24 hours.',
    ),
  ),
  after_completion: optionalFlag({
    description: 'Whether an INTERVAL counts from the end of the last execution.',
  }),
})
export type ScheduleObject = Static<typeof ScheduleObjectSchema>

export const scheduleText =
  'Cron, an ISO 8601 interval, or English such as "every day at 10:00 AM in London"; or an object with the fields below.'

/** A text or an object, as one schema: keywords for texts say nothing about objects, and the other way round. */
export const ScheduleSchema = Type.Unsafe<string | ScheduleObject>({
  ...ScheduleObjectSchema,
  type: ['string', 'object'],
  minLength: 1,
  maxLength: 256,
  ...expected(
    'a text of at most 256 characters, such as "every day at 10:00", or an object such as {"cron_expression":"0 10 * * *"}',
  ),
  description: scheduleText,
})

export const SchedulePreviewRequestSchema = strictObject({
  schedule: ScheduleSchema,
  count: optionalInteger({ minimum: 1, maximum: 100, default: 10 }),
  from: Type.Optional(time('Slots strictly after this instant. Default now.')),
  job_id: Type.Optional(
    text(
      'the id of a job, such as 0198c5a2-7d31-7c44-9a55-3f0e6b1d2c00',
      'The job id that determines the values of H and the jitter.',
      64,
    ),
  ),
  jitter_seconds: optionalInteger({ minimum: 0, maximum: 86_400 }),
  min_interval_seconds: optionalInteger({ minimum: 1, maximum: 86_400 }),
})
export type SchedulePreviewRequest = Static<typeof SchedulePreviewRequestSchema>

export const ScheduleNoteSchema = oneOf([
  'GAP',
  'FOLD_FIRST',
  'FOLD_SECOND',
  'EXCLUDED',
  'HASHED',
  'JITTERED',
])
export const ScheduleRuleSchema = oneOf(['ELAPSED', 'WALL_CLOCK', 'FIXED_RATE', 'ONCE'])

export const SchedulePreviewReplySchema = strictObject({
  description: Type.String({ maxLength: 4_096, description: 'The schedule as an English sentence.' }),
  schedule: ScheduleObjectSchema,
  rule: strictObject({
    follows: ScheduleRuleSchema,
    gap: oneOf(['run_after', 'skip']),
    fold: oneOf(['first', 'both']),
    text: said(256),
  }),
  next: Type.Array(
    strictObject({
      at: Type.String({ maxLength: 40, description: 'The slot, UTC RFC 3339.' }),
      local: Type.String({
        maxLength: 40,
        description: 'The slot in the schedule’s zone, RFC 3339 with its offset.',
      }),
      starts_at: optionalText({ maxLength: 40, description: 'Slot plus jitter, when there is jitter.' }),
      notes: Type.Array(strictObject({ code: ScheduleNoteSchema, message: said(512) }), {
        maxItems: 8,
      }),
    }),
    { maxItems: 100 },
  ),
  warnings: Type.Array(strictObject({ code: said(64), message: said(512) }), {
    maxItems: 20,
  }),
})
export type SchedulePreviewReply = Static<typeof SchedulePreviewReplySchema>
