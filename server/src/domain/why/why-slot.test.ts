import assert from 'node:assert/strict'
import test from 'node:test'
import { at, job, pause, pauseSaid } from '../../../test/why-job.ts'
import type { ExecutionView } from '../../ports/executions.ts'
import { type SlotFacts, whyNoSlot, whySlot } from './why-slot.ts'

const execution: ExecutionView = {
  executionId: 'x',
  jobId: 'j',
  jobName: 'report',
  version: 3,
  kind: 'slot',
  status: 'SUCCEEDED',
  slot: at('02:00:00'),
  attempt: 1,
  enqueuedAt: at('02:00:00'),
  startedAt: at('02:00:01'),
  finishedAt: at('02:00:02'),
  durationMs: 1_234,
  workerId: null,
  httpStatus: 200,
  error: null,
  deadLetter: false,
  retryAt: null,
  runId: null,
  skipped: null,
  idempotencyKey: null,
  retryOf: null,
  execution: job.execution,
  progress: null,
  metadata: {},
  attempts: [],
}
const nothing = { pause: null, blocker: null, instead: null, exclusion: null, version: null, again: null }
const bare = { ...nothing, dueAt: at('02:00:00') }
const ran = (changes: Partial<ExecutionView>): SlotFacts => {
  const made = { ...execution, ...changes }
  const { status, executionId, slot } = made
  return { ...bare, job, slot, status, reason: null, executionId, execution: made }
}
const skipped = (changes: Partial<SlotFacts>): SlotFacts => ({
  ...bare,
  ...{ job, slot: at('02:00:00'), status: 'SKIPPED', reason: null, executionId: null, execution: null },
  version: 3,
  ...changes,
})
const failed = { type: 'HTTP_ERROR', message: 'Callback returned 503' } as const
const node = { kind: 'dependency', runId: 'r' } as const
const unmet = {
  reason: 'dependency',
  message: 'It runs on success of "a", which ended FAILED.',
} as const
const missed =
  'It was skipped: the slot 2026-01-02T02:00:00Z could not be fired in time, because no scheduler was running'
const came = 'It was skipped: the slot 2026-01-02T02:00:00Z came'

const thens: [SlotFacts, string][] = [
  [
    ran({}),
    'It ran: the slot 2026-01-02T02:00:00Z started at 2026-01-02T02:00:01Z and succeeded after 1.2 s (execution x).',
  ],
  [
    ran({ status: 'FAILED', attempt: 4, error: failed, deadLetter: true }),
    'It ran and failed: the slot 2026-01-02T02:00:00Z started at 2026-01-02T02:00:01Z and, at attempt 4, failed after 1.2 s with HTTP_ERROR: Callback returned 503 (execution x); it is a dead letter.',
  ],
  [
    ran({ status: 'TIMED_OUT', durationMs: 30_000, error: { type: 'TIMEOUT', message: 'too slow' } }),
    'It ran and timed out: the slot 2026-01-02T02:00:00Z started at 2026-01-02T02:00:01Z and timed out after 30.0 s with TIMEOUT: too slow (execution x).',
  ],
  [
    ran({ status: 'CANCELLED', error: { type: 'CANCELLED', message: 'Cancelled by ada.' } }),
    'It was cancelled: the slot 2026-01-02T02:00:00Z ended at 2026-01-02T02:00:02Z: Cancelled by ada (execution x).',
  ],
  [
    ran({ ...node, status: 'SUCCEEDED' }),
    'It ran: its part of the graph run of 2026-01-02T02:00:00Z started at 2026-01-02T02:00:01Z and succeeded after 1.2 s (execution x).',
  ],
  [
    ran({ ...node, status: 'SKIPPED', startedAt: null, skipped: unmet }),
    'It was skipped: its part of the graph run of 2026-01-02T02:00:00Z did not run, because it runs on success of "a", which ended FAILED (execution x).',
  ],
  [
    {
      ...ran({ ...node, status: 'SKIPPED', startedAt: null, skipped: unmet }),
      again: { runId: 'r', isEnded: true },
    },
    'It was skipped: its part of the graph run of 2026-01-02T02:00:00Z did not run, because it runs on success of "a", which ended FAILED (execution x); POST /api/v1/graph-runs/r/resume runs it again.',
  ],
  [
    {
      ...ran({ ...node, status: 'FAILED', error: failed, deadLetter: true }),
      again: { runId: 'r', isEnded: false },
    },
    'It ran and failed: its part of the graph run of 2026-01-02T02:00:00Z started at 2026-01-02T02:00:01Z and failed after 1.2 s with HTTP_ERROR: Callback returned 503 (execution x); it is a dead letter; once that run has ended, POST /api/v1/graph-runs/r/resume runs it again.',
  ],
  [
    ran({ status: 'RETRYING', error: failed, retryAt: at('02:05:00') }),
    'It is retried: the slot 2026-01-02T02:00:00Z failed with HTTP_ERROR: Callback returned 503; attempt 2 of 4 starts at 2026-01-02T02:05:00Z (execution x).',
  ],
  [
    ran({ status: 'RUNNING' }),
    'It is running: the slot 2026-01-02T02:00:00Z runs since 2026-01-02T02:00:01Z (execution x).',
  ],
  [
    ran({ status: 'PENDING', startedAt: null }),
    'It waits: the slot 2026-01-02T02:00:00Z has its execution since 2026-01-02T02:00:00Z and has not started yet (execution x).',
  ],
  [
    skipped({ reason: 'overlap', blocker: 'the execution b' }),
    `${came} while the execution b was still under way (overlap_policy SKIP).`,
  ],
  [
    skipped({ reason: 'overlap', blocker: 'the graph run r' }),
    `${came} while the graph run r was still under way (overlap_policy SKIP).`,
  ],
  [
    skipped({ reason: 'overlap', job: { ...job, misfirePolicy: 'FIRE_ALL' } }),
    `${came} while an earlier execution of the job was still under way (overlap_policy SKIP; under FIRE_ALL slots wait only while missed slots are caught up, and only the first 1,000).`,
  ],
  [
    skipped({ reason: 'overlap', job: { ...job, misfirePolicy: 'FIRE_ALL', overlapPolicy: 'BUFFER_ALL' } }),
    `${came} when 1,000 slots were waiting already (overlap_policy BUFFER_ALL).`,
  ],
  [
    skipped({ reason: 'overlap', version: 2 }),
    `${came} while an earlier execution of the job was still under way.`,
  ],
  [
    skipped({ reason: 'overlap', job: { ...job, overlapPolicy: 'BUFFER_ONE' } }),
    `${came} when a slot was waiting already (overlap_policy BUFFER_ONE).`,
  ],
  [
    skipped({ reason: 'overlap', job: { ...job, overlapPolicy: 'BUFFER_ALL' } }),
    `${came} when 1,000 slots were waiting already (overlap_policy BUFFER_ALL).`,
  ],
  [
    skipped({ reason: 'misfire', instead: at('05:00:00') }),
    `${missed}; the latest missed slot, 2026-01-02T05:00:00Z, ran instead.`,
  ],
  [
    skipped({ reason: 'misfire', job: { ...job, misfirePolicy: 'SKIP' } }),
    `${missed}, and its misfire_policy is SKIP.`,
  ],
  [
    skipped({ reason: 'misfire', job: { ...job, misfireWindowSeconds: 600 } }),
    `${missed}; only the latest missed slot runs, if it is within the misfire window.`,
  ],
  [
    skipped({ reason: 'misfire', job: { ...job, misfirePolicy: 'FIRE_ALL' } }),
    `${missed} again within the misfire window, or there were more than the 1,000 latest, which FIRE_ALL runs.`,
  ],
  [skipped({ reason: 'misfire', version: 1 }), `${missed}.`],
  [
    skipped({ reason: 'paused', job: { ...job, status: 'PAUSED', pause } }),
    `${came} while the job is paused: it has been ${pauseSaid}.`,
  ],
  [skipped({ reason: 'paused' }), `${came} while the job was paused.`],
  [
    skipped({ reason: 'paused', pause: { since: at('01:00:00'), by: 'ada', reason: 'holidays' } }),
    `${came} while the job was paused by ada at 2026-01-02T01:00:00Z ("holidays").`,
  ],
  [
    skipped({
      ...{ reason: 'paused', job: { ...job, status: 'PAUSED', pause } },
      pause: { since: at('01:00:00'), by: 'ada', reason: null },
    }),
    `${came} while the job was paused by ada at 2026-01-02T01:00:00Z.`,
  ],
  [
    skipped({ reason: 'edited' }),
    'It was skipped: the slot 2026-01-02T02:00:00Z had not fired yet when the schedule of the job was changed.',
  ],
  [
    skipped({ reason: 'deleted', job: { ...job, status: 'DELETED' } }),
    'It was skipped: the slot 2026-01-02T02:00:00Z had not fired yet when the job was deleted by grace at 2026-01-02T01:00:00Z.',
  ],
  [
    skipped({ reason: 'exclusion', exclusion: 'by the calendar "holidays"' }),
    'It was skipped: the slot 2026-01-02T02:00:00Z is excluded by the calendar "holidays".',
  ],
  [
    skipped({ status: 'PENDING', reason: 'owed' }),
    'It is late and waits for its turn: the slot 2026-01-02T02:00:00Z is owed and runs in order behind others.',
  ],
  [
    skipped({ status: 'PENDING' }),
    'It is due: the slot 2026-01-02T02:00:00Z has not been fired yet, because no scheduler has reached it.',
  ],
  [skipped({ status: 'SCHEDULED' }), 'Not due until 2026-01-02T02:00:00Z.'],
  [
    skipped({ status: 'SCHEDULED', reason: 'exclusion', exclusion: 'on 2026-01-02' }),
    'It will be skipped: the slot 2026-01-02T02:00:00Z is excluded on 2026-01-02.',
  ],
]

test('the fate of a slot is told in one sentence', () => {
  for (const [slot, text] of thens) assert.equal(whySlot(slot).text, text)
})

test('an instant without a slot is told with the slots around it', () => {
  const before = { slot: at('02:00:00'), status: 'SKIPPED', reason: 'overlap', executionId: null } as const
  const after = { slot: at('03:00:00'), status: 'SCHEDULED', reason: null, executionId: null } as const
  assert.deepEqual(whyNoSlot(at('02:20:00'), { before, after }), {
    text: 'The job has no slot at 2026-01-02T02:20:00Z: the one before, 2026-01-02T02:00:00Z, was skipped (overlap), and the one after is 2026-01-02T03:00:00Z.',
    status: 'NO_SLOT',
    reason: null,
    slot: at('02:00:00'),
    executionId: null,
  })
  const none = whyNoSlot(at('02:20:00'), { before: null, after: null })
  assert.equal(
    none.text,
    'The job has no slot at 2026-01-02T02:20:00Z: there is none within a year before it, and there is none within a year after it.',
  )
})
