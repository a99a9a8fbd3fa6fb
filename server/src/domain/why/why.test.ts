import assert from 'node:assert/strict'
import test from 'node:test'
import { at, job, pause, pauseSaid } from '../../../test/why-job.ts'
import type { UnendedExecution } from '../../ports/executions.ts'
import type { JobView } from '../jobs/job.ts'
import { suspectHost } from '../queue/route.ts'
import { type NowFacts, whyNow } from './why.ts'
import { durationText, shorten } from './why-text.ts'

const one: UnendedExecution = {
  executionId: 'x',
  kind: 'slot',
  slot: at('03:00:00'),
  state: 'running',
  status: 'RUNNING',
  attempt: 1,
  enqueuedAt: at('03:00:00'),
  startedAt: at('03:00:01'),
  retryAt: null,
  host: null,
  concurrencyKey: null,
}
const ready: UnendedExecution = { ...one, state: 'ready', status: 'PENDING', attempt: 0, startedAt: null }
const waiting: UnendedExecution = { ...ready, executionId: 'w', state: 'waiting', slot: at('03:30:00') }

const facts: NowFacts = {
  job,
  now: at('03:40:00'),
  underWay: { executions: [], letGo: 0, owed: null },
  workers: { count: 2, hasRoom: true, shareHeld: null, limit: null },
  last: { slot: at('03:00:00'), status: 'SUCCEEDED', reason: null, executionId: 'x' },
  next: { slot: at('04:00:00'), dueAt: at('04:00:00'), exclusion: null },
  nextRunAt: at('04:00:00'),
  graph: null,
  run: null,
  runAhead: null,
}
const under = (...executions: UnendedExecution[]) => ({
  underWay: {
    executions,
    letGo: executions.filter(({ state }) => state !== 'waiting' && state !== 'blocked').length,
    owed: null,
  },
})
const owed = { from: at('01:00:00'), to: at('03:00:00') }
const ended = { ...job, status: 'COMPLETED', slotAt: null } as const
const slow: JobView = { ...job, execution: { ...job.execution, timeout_seconds: 7_200 } }
const byHandler: JobView = {
  ...job,
  execution: { type: 'worker', handler: 'report', labels: ['eu'], timeout_seconds: 60 },
}
const keyed = { concurrencyKey: { key: 'db', limit: 2, held: 2 } }

/** The facts, the sentence, status and reason. */
const nows: [Partial<NowFacts>, string, string, string | null][] = [
  [{}, 'Not due until 2026-01-02T04:00:00Z.', 'SCHEDULED', null],
  [
    { next: { slot: at('04:00:00'), dueAt: at('04:03:09'), exclusion: null } },
    'Not due until 2026-01-02T04:03:09Z, the slot 2026-01-02T04:00:00Z with its jitter.',
    'SCHEDULED',
    null,
  ],
  [
    {
      next: { slot: at('04:00:00'), dueAt: at('04:00:00'), exclusion: 'by the calendar "holidays"' },
      nextRunAt: at('23:00:00'),
    },
    'Not due: its next slot, 2026-01-02T04:00:00Z, is excluded by the calendar "holidays"; it runs next at 2026-01-02T23:00:00Z.',
    'SCHEDULED',
    'exclusion',
  ],
  [{ next: null, nextRunAt: null }, 'No slot of the job is known.', 'SCHEDULED', null],
  [
    { last: { slot: at('03:00:00'), status: 'PENDING', reason: null, executionId: null } },
    'The slot 2026-01-02T03:00:00Z is due, and no scheduler has fired it yet.',
    'PENDING',
    null,
  ],
  [
    { job: { ...job, status: 'DELETED', slotAt: null }, ...under(one) },
    'The job was deleted by grace at 2026-01-02T01:00:00Z.',
    'DELETED',
    null,
  ],
  [{ job: ended }, 'The job is completed: no slot is left.', 'COMPLETED', null],
  [
    { job: { ...ended, schedule: { ...job.schedule, end_at: '2026-01-02T03:30:00Z' } } },
    'The job is completed: no slot is left before its end_at, 2026-01-02T03:30:00Z.',
    'COMPLETED',
    null,
  ],
  [
    { job: { ...ended, runs: 5, schedule: { ...job.schedule, max_runs: 5 } } },
    'The job is completed: it ran 5 times, which is its max_runs.',
    'COMPLETED',
    null,
  ],
  [
    { job: { ...ended, schedule: { type: 'ONE_TIME', scheduled_time: '2026-01-02T03:00:00Z' } } },
    'The job is completed: its one slot, 2026-01-02T03:00:00Z, succeeded (execution x).',
    'COMPLETED',
    null,
  ],
  [
    { job: { ...job, status: 'PAUSED', pause } },
    `The job has been ${pauseSaid}; no slot fires until it is resumed, but it can be triggered.`,
    'PAUSED',
    'paused',
  ],
  [
    { job: { ...job, status: 'PAUSED', pause }, ...under(one) },
    `It is running: the slot 2026-01-02T03:00:00Z (execution x) runs since 2026-01-02T03:00:01Z; the job itself has been ${pauseSaid}.`,
    'RUNNING',
    null,
  ],
  [
    under({ ...one, kind: 'trigger', attempt: 2 }),
    'It is running: the trigger of 2026-01-02T03:00:00Z (execution x) runs since 2026-01-02T03:00:01Z, attempt 2 of 4.',
    'RUNNING',
    null,
  ],
  [
    under({ ...one, status: 'CANCELLING' }),
    'It is being cancelled: the slot 2026-01-02T03:00:00Z (execution x) runs since 2026-01-02T03:00:01Z.',
    'CANCELLING',
    null,
  ],
  [
    { ...under({ ...one, state: 'awaiting' }), job: slow },
    'It is running: the target of the slot 2026-01-02T03:00:00Z (execution x) answered 202 and has until 2026-01-02T05:00:01Z to say how it ended.',
    'RUNNING',
    null,
  ],
  [
    { ...under({ ...ready, attempt: 1, status: 'RETRYING', host: suspectHost }), job: byHandler },
    'It waits: the slot 2026-01-02T03:00:00Z (execution x) has been ready since 2026-01-02T03:00:00Z, but it was lost with its worker before, so it waits for a worker that runs no other suspect.',
    'RETRYING',
    'suspect',
  ],
  [
    { ...under(ready), job: byHandler, workers: { count: 0, hasRoom: false, shareHeld: null, limit: null } },
    'It waits: the slot 2026-01-02T03:00:00Z (execution x) has been ready since 2026-01-02T03:00:00Z, but no worker runs the handler report with the labels eu.',
    'PENDING',
    'no_worker',
  ],
  [
    under({ ...one, state: 'retrying', status: 'RETRYING', retryAt: at('03:41:00') }),
    'It is retried: the slot 2026-01-02T03:00:00Z (execution x) failed and starts again at 2026-01-02T03:41:00Z, attempt 2 of 4.',
    'RETRYING',
    null,
  ],
  [
    { ...under(ready), workers: { count: 0, hasRoom: false, shareHeld: null, limit: null } },
    'It waits: the slot 2026-01-02T03:00:00Z (execution x) has been ready since 2026-01-02T03:00:00Z, but no worker is registered.',
    'PENDING',
    'no_worker',
  ],
  [
    { ...under(ready), workers: { count: 3, hasRoom: false, shareHeld: 500, limit: null } },
    'It waits: the slot 2026-01-02T03:00:00Z (execution x) has been ready since 2026-01-02T03:00:00Z, but all 3 workers are at capacity.',
    'PENDING',
    'capacity',
  ],
  [
    { ...under(ready), workers: { count: 3, hasRoom: true, shareHeld: 500, limit: null } },
    'It waits: the slot 2026-01-02T03:00:00Z (execution x) has been ready since 2026-01-02T03:00:00Z, but its tenant has 500 under way, its share of the workers while other tenants have jobs.',
    'PENDING',
    'tenant_share',
  ],
  [
    {
      ...under(ready),
      workers: { count: 3, hasRoom: false, shareHeld: null, limit: { running: 101, max: 100 } },
    },
    'It waits: the slot 2026-01-02T03:00:00Z (execution x) has been ready since 2026-01-02T03:00:00Z, but its tenant runs 101 executions, and its tier lets 100 run at once (concurrent_executions_max).',
    'PENDING',
    'concurrent_executions',
  ],
  [
    under({ ...ready, host: 'example.com 01a1ef11-9bde-7000-b7cf-8026c46b3306' }),
    'It waits: the slot 2026-01-02T03:00:00Z (execution x) has been ready since 2026-01-02T03:00:00Z, but its target example.com has the maximum number of concurrent calls.',
    'PENDING',
    'target_busy',
  ],
  [
    under({ ...ready, host: 'example.com 01a1ef11-9bde-7000-b7cf-8026c46b3306 rate' }),
    'It waits: the slot 2026-01-02T03:00:00Z (execution x) has been ready since 2026-01-02T03:00:00Z, but its tenant calls example.com as often in a second as its tier allows (host_calls_per_second).',
    'PENDING',
    'target_rate',
  ],
  [
    under({ ...ready, host: 'quota' }),
    'It waits: the slot 2026-01-02T03:00:00Z (execution x) has been ready since 2026-01-02T03:00:00Z, but its tenant has used up its executions a minute; it starts when there is budget (executions_per_minute).',
    'PENDING',
    'quota',
  ],
  [
    under(ready),
    'It waits: the slot 2026-01-02T03:00:00Z (execution x) has been ready since 2026-01-02T03:00:00Z and is in the queue of the workers.',
    'PENDING',
    'queued',
  ],
  [
    { job: { ...job, overlapPolicy: 'BUFFER_ONE' }, ...under(one, waiting) },
    'It waits: the slot 2026-01-02T03:30:00Z (execution w) waits for the end of the execution x, which is RUNNING since 2026-01-02T03:00:01Z (overlap_policy BUFFER_ONE).',
    'PENDING',
    'overlap',
  ],
  [
    { job: { ...job, overlapPolicy: 'ALLOW', concurrencyLimit: 1 }, ...under(one, waiting) },
    'It waits: the slot 2026-01-02T03:30:00Z (execution w) waits for the concurrency_limit: 1 of 1 under way.',
    'PENDING',
    'concurrency_limit',
  ],
  [
    under({ ...waiting, ...keyed }),
    'It waits: the slot 2026-01-02T03:30:00Z (execution w) waits for the concurrency_key "db": 2 of 2 in use.',
    'PENDING',
    'concurrency_key',
  ],
  [
    { underWay: { executions: [waiting], letGo: 0, owed } },
    'It waits: the slot 2026-01-02T03:30:00Z (execution w) waits for owed slots: the slots from 2026-01-02T01:00:00Z to 2026-01-02T03:00:00Z.',
    'PENDING',
    'owed',
  ],
  [
    under(waiting),
    'It waits: the slot 2026-01-02T03:30:00Z (execution w) is about to be released.',
    'PENDING',
    'queued',
  ],
  [
    { underWay: { executions: [], letGo: 0, owed } },
    'Late slots wait for their turn: the slots from 2026-01-02T01:00:00Z to 2026-01-02T03:00:00Z are owed and run in order, one after the other.',
    'PENDING',
    'owed',
  ],
]

const counted: JobView = {
  ...job,
  slotAt: null,
  schedule: { type: 'INTERVAL', every_seconds: 60, after_completion: true },
}
nows.push(
  [
    { job: counted, ...under(one) },
    'It is running: the slot 2026-01-02T03:00:00Z (execution x) runs since 2026-01-02T03:00:01Z; the next slot counts from its end (after_completion).',
    'RUNNING',
    null,
  ],
  [
    { job: counted, next: null },
    'Its last execution has ended, and the next slot, which counts from that end, is being planned.',
    'SCHEDULED',
    'after_completion',
  ],
)

const dependent: JobView = { ...job, slotAt: null, dependsOn: [{ jobId: 'a', on: 'success' }] }
const after: NowFacts['graph'] = {
  parents: [{ name: 'extract', on: 'success' }],
  roots: ['extract'],
  last: null,
}
const turn = {
  executionId: 's',
  slot: at('02:00:00'),
  status: 'FAILED',
  message: 'no such table.',
  again: { runId: 'r', isEnded: true },
} as const
const part: UnendedExecution = {
  ...ready,
  kind: 'dependency',
  state: 'blocked',
  status: 'WAITING_DEPENDENCIES',
}
const open = (...names: string[]) => names.map((name) => ({ name, status: 'RUNNING' }) as const)
const runs = 'It does not fire by itself: it runs after "extract" (on success);'
nows.push(
  [
    { job: dependent, graph: after, next: null },
    `${runs} trigger "extract" to run it after it, or the job itself to run it alone.`,
    'WAITING_DEPENDENCIES',
    'dependency',
  ],
  [
    { job: dependent, graph: { ...after, last: turn }, next: null },
    `${runs} trigger "extract" to run it after it, or the job itself to run it alone; its last turn, in the graph run of 2026-01-02T02:00:00Z, failed: no such table (execution s); POST /api/v1/graph-runs/r/resume runs it again.`,
    'WAITING_DEPENDENCIES',
    'dependency',
  ],
  [
    {
      job: { ...dependent, schedule: counted.schedule },
      graph: {
        parents: ['a', 'b', 'c', 'd', 'e'].map((name) => ({ name, on: 'completion' })),
        roots: ['a', 'b'],
        last: {
          ...turn,
          status: 'SKIPPED',
          message: 'The job was paused when its turn came.',
          again: { runId: 'r', isEnded: false },
        },
      },
    },
    'It does not fire by itself: it runs after "a" (on completion), "b" (on completion), "c" (on completion) and 2 more; trigger "a" or "b" to run it after them, or the job itself to run it alone; its last turn, in the graph run of 2026-01-02T02:00:00Z, was skipped, because the job was paused when its turn came (execution s); once that run has ended, POST /api/v1/graph-runs/r/resume runs it again.',
    'WAITING_DEPENDENCIES',
    'dependency',
  ],
  [
    { job: { ...dependent, status: 'PAUSED', pause }, graph: after },
    `The job has been ${pauseSaid}; it is skipped in every graph run until it is resumed, but it can be triggered.`,
    'PAUSED',
    'paused',
  ],
  [
    { job: dependent, graph: after, ...under(part), run: { runId: 'r', open: open('extract', 'clean') } },
    'It waits: its part of the graph run of 2026-01-02T03:00:00Z (execution x) waits for "extract" (RUNNING) and "clean" (RUNNING) in the graph run r.',
    'WAITING_DEPENDENCIES',
    'dependency',
  ],
  [
    { job: { ...dependent, schedule: counted.schedule }, graph: after, ...under(one) },
    'It is running: the slot 2026-01-02T03:00:00Z (execution x) runs since 2026-01-02T03:00:01Z.',
    'RUNNING',
    null,
  ],
  [
    { job: dependent, graph: after, ...under(part), run: { runId: 'r', open: [] } },
    'It waits: its part of the graph run of 2026-01-02T03:00:00Z (execution x) is about to be released (graph run r).',
    'WAITING_DEPENDENCIES',
    'dependency',
  ],
  [
    { job: dependent, graph: after, ...under({ ...waiting, kind: 'trigger' }, part) },
    'It waits: the trigger of 2026-01-02T03:30:00Z (execution w) is about to be released.',
    'PENDING',
    'queued',
  ],
  [
    { job: { ...job, overlapPolicy: 'BUFFER_ONE' }, ...under(waiting), runAhead: 'r' },
    'It waits: the slot 2026-01-02T03:30:00Z (execution w) waits for the end of the graph run r (overlap_policy BUFFER_ONE).',
    'PENDING',
    'overlap',
  ],
  [
    { job: counted, next: null, runAhead: 'r' },
    'Its last execution has ended, and the next slot counts from the end of the graph run r, which is under way.',
    'SCHEDULED',
    'after_completion',
  ],
)

test('why it does not run right now is told in one sentence', () => {
  for (const [changes, text, status, reason] of nows) {
    const answer = whyNow({ ...facts, ...changes })
    assert.deepEqual([answer.text, answer.status, answer.reason], [text, status, reason])
  }
})

test('durations and texts of others are short', () => {
  const texts = [250, 1_250, 59_900, 185_000, 7_380_000].map(durationText)
  assert.deepEqual(texts, ['250 ms', '1.3 s', '59.9 s', '3 min 5 s', '2 h 3 min'])
  assert.equal(shorten('a\r\n  b\t'), 'a b')
  assert.equal(shorten('x'.repeat(5_000)).length, 200)
})
