import assert from 'node:assert/strict'
import test from 'node:test'
import { type EpochMs, epochMs } from '../../lib/time/epoch.ts'
import {
  isOfOpenRun,
  KeyCounts,
  nameOfKey,
  type OwedSlots,
  planRelease,
  type WaitingExecution,
  type WaitingJob,
} from './release.ts'

const start = Date.UTC(2026, 0, 1)
const at = (seconds: number): EpochMs => epochMs(start + seconds * 1_000)
const nothing = { go: [], owed: null, cancel: null, next: null }

function job(changes: Partial<WaitingJob> = {}): WaitingJob {
  return {
    jobId: '019b0000-0000-7000-8000-000000000001',
    tenantId: 'acme',
    version: 3,
    priority: 5,
    overlapPolicy: 'SKIP',
    misfirePolicy: 'FIRE_ONCE',
    concurrencyLimit: null,
    concurrencyKey: null,
    schedule: { type: 'CRON', cron_expression: '* * * * * *' },
    anchorAt: at(0),
    jitterSeconds: 0,
    now: at(100),
    isDeleted: false,
    calendars: null,
    underWay: 0,
    uncancelled: 0,
    underWayOf: null,
    graphId: null,
    runsUnderWay: 0,
    runsFrom: null,
    waiting: [],
    owed: null,
    owedDecided: [],
    awaits: null,
    ...changes,
  }
}

function one(executionId: string, changes: Partial<WaitingExecution> = {}): WaitingExecution {
  const waiting = {
    kind: 'trigger',
    inRun: false,
    slot: at(0),
    rank: at(0),
    operationId: null,
    concurrencyKey: null,
  } as const
  return { executionId, ...waiting, ...changes }
}

const slot = (executionId: string, seconds: number, rank = seconds): WaitingExecution =>
  one(executionId, { kind: 'slot', slot: at(seconds), rank: at(rank) })

const owed = (from: number, to: number, changes: Partial<OwedSlots> = {}): OwedSlots => ({
  from: at(from),
  to: at(to),
  paceMs: 0,
  nextAt: at(0),
  ...changes,
})

const plan = (changes: Partial<WaitingJob>, keys = new KeyCounts()) => planRelease(job(changes), keys)

test('nothing of a deleted job is let go under any overlap policy', () => {
  const owed = { from: at(1), to: at(2), paceMs: 0, nextAt: at(0) }
  for (const overlapPolicy of ['ALLOW', 'SKIP', 'CANCEL_RUNNING'] as const) {
    const deleted = job({ isDeleted: true, overlapPolicy, waiting: [one('a')], owed })
    assert.deepEqual(planRelease(deleted, new KeyCounts()), nothing)
  }
})

test('one at a time, in the order of rank, once nothing is under way', () => {
  const waiting = [one('b', { rank: at(2) }), one('a', { rank: at(1) })]
  assert.deepEqual(plan({ waiting }), { ...nothing, go: ['a'] })
  assert.deepEqual(plan({ waiting, underWay: 1, uncancelled: 1 }), nothing)
})

test('slots go in their own order, regardless of their ranks', () => {
  // The priority of the job was raised between them.
  const waiting = [slot('late', 20, 0), slot('early', 10, 5), one('person', { rank: at(1) })]
  assert.deepEqual(plan({ waiting }).go, ['early'])
  assert.deepEqual(plan({ waiting: [slot('late', 20, 3), one('person', { rank: at(1) })] }).go, ['person'])
})

test('owed slots go before slots that came later and before a backfill, but behind triggers of people', () => {
  const base = { owed: owed(10, 12) }
  const first = { slots: [at(10)], state: 'ready', skips: [] }
  const left = { ...owed(11, 12), nextAt: at(100) }
  const expected = { ...nothing, owed: { ...first, left } }
  assert.deepEqual(plan({ ...base, waiting: [slot('later', 20)] }), expected)
  assert.deepEqual(plan({ ...base, waiting: [one('past', { kind: 'backfill' })] }), expected)
  assert.deepEqual(plan({ ...base, waiting: [slot('earlier', 9)] }), { ...nothing, go: ['earlier'] })
  assert.deepEqual(plan({ ...base, waiting: [one('person')] }), { ...nothing, go: ['person'] })
  assert.deepEqual(plan({ ...base, underWay: 1 }), nothing)
})

test('a slot that came before the owed slots goes first, also when a backfill is in front of it', () => {
  const waiting = [one('a', { kind: 'backfill', rank: at(1) }), slot('b', 9)]
  assert.deepEqual(plan({ owed: owed(10, 12), waiting }), { ...nothing, go: ['b'] })
})

test('owed slots end with the last slot of their range, and decided slots are passed over', () => {
  assert.equal(plan({ owed: owed(12, 12) }).owed?.left, null)
  const decided = [{ from: at(10), to: at(11) }]
  assert.deepEqual(plan({ owed: owed(10, 14), owedDecided: decided }).owed?.slots, [at(12)])
  const all = plan({ owed: owed(10, 11), owedDecided: decided }).owed
  assert.deepEqual(all, { slots: [], state: 'ready', skips: [], left: null })
})

test('a catch-up of FIRE_ALL lasts until its last execution has ended', () => {
  const base = { misfirePolicy: 'FIRE_ALL' } as const
  const open = { ...owed(12, 12), from: epochMs(at(12) + 1) }
  assert.deepEqual(plan({ ...base, owed: owed(12, 12) }).owed?.left, { ...open, nextAt: at(100) })
  assert.deepEqual(plan({ ...base, owed: open, underWay: 1 }), nothing)
  const over = { slots: [], state: 'ready', skips: [], left: null }
  assert.deepEqual(plan({ ...base, owed: open }), { ...nothing, owed: over })
  assert.deepEqual(plan({ ...base, owed: open, underWay: 1, isDeleted: true }), { ...nothing, owed: over })
  const waiting = [one('a', { kind: 'backfill' })]
  assert.deepEqual(plan({ ...base, owed: open, waiting }), { ...nothing, go: ['a'], owed: over })
  // Where an on-time slot runs beside the owed ones, or is buffered behind them, nothing need be kept open.
  for (const overlapPolicy of ['ALLOW', 'BUFFER_ALL', 'CANCEL_RUNNING'] as const)
    assert.equal(plan({ ...base, overlapPolicy, owed: owed(12, 12) }).owed?.left, null, overlapPolicy)
})

test('an owed slot that is not due yet by the clock of the database stays owed', () => {
  assert.deepEqual(plan({ owed: owed(99, 101) }).owed?.slots, [at(99)])
  const early = plan({ overlapPolicy: 'ALLOW', owed: owed(99, 102) }).owed
  assert.deepEqual([early?.slots, early?.left?.from], [[at(99), at(100)], at(101)])
  assert.deepEqual(plan({ owed: owed(101, 101) }).owed?.slots, [])
})

test('owed slots that an exclusion covers are skipped as one range, up to the next decided slot', () => {
  const schedule = {
    type: 'CRON',
    cron_expression: '* * * * * *',
    exclusions: [{ from: '2026-01-01T00:00:11Z', to: '2026-01-01T00:00:20Z' }],
  } as const
  const range = (from: number, to: number) => ({ from: at(from), to: at(to), count: to - from + 1 })
  const common = { reason: 'exclusion', version: 3 }
  const { owed: whole } = plan({
    schedule: { ...schedule, exclusions: [...schedule.exclusions] },
    owed: owed(11, 30),
  })
  assert.deepEqual(whole?.skips, [{ ...range(11, 19), ...common }])
  assert.deepEqual(whole?.slots, [at(20)])
  const { owed: parted } = plan({
    schedule: { ...schedule, exclusions: [...schedule.exclusions] },
    owed: owed(11, 18),
    owedDecided: [{ from: at(14), to: at(15) }],
  })
  assert.deepEqual(parted?.skips, [
    { ...range(11, 13), ...common },
    { ...range(16, 18), ...common },
  ])
  assert.equal(parted?.left, null)
})

test('owed slots at a pace do not go before their time, and delayed ones are made up a few at a time', () => {
  const paced = (nextAt: number) => owed(10, 99, { paceMs: 100, nextAt: at(nextAt) })
  assert.equal(plan({ overlapPolicy: 'ALLOW', owed: paced(100.05) }).owed, null)
  const due = plan({ overlapPolicy: 'ALLOW', owed: paced(100) }).owed
  assert.deepEqual(due?.slots, [at(10)])
  assert.equal(due?.left?.nextAt, at(100) + 100)
  assert.equal(plan({ overlapPolicy: 'ALLOW', owed: paced(99.5) }).owed?.slots.length, 6)
  assert.equal(plan({ overlapPolicy: 'ALLOW', owed: paced(10) }).owed?.slots.length, 10)
  assert.equal(plan({ owed: paced(10) }).owed?.slots.length, 1)
})

test('ALLOW: as many as the limit leaves room for', () => {
  const waiting = [slot('a', 1), slot('b', 2), slot('c', 3)]
  const limited = { overlapPolicy: 'ALLOW', concurrencyLimit: 3, waiting } as const
  assert.deepEqual(plan({ ...limited, underWay: 1 }).go, ['a', 'b'])
  assert.deepEqual(plan({ ...limited, underWay: 3 }).go, [])
  assert.deepEqual(plan({ ...limited, underWay: 4 }).go, [])
  assert.deepEqual(plan({ overlapPolicy: 'ALLOW', waiting }).go, ['a', 'b', 'c'])
})

test('ALLOW with a limit: owed slots are made one at a time, when nothing else waits, and wait to be counted', () => {
  const base = { overlapPolicy: 'ALLOW', concurrencyLimit: 2, owed: owed(10, 20) } as const
  assert.deepEqual([plan(base).owed?.slots, plan(base).owed?.state], [[at(10)], 'waiting'])
  assert.equal(plan({ ...base, underWay: 2, waiting: [slot('a', 1)] }).owed, null)
})

test('a key is shared by jobs, and never holds more than its limit', () => {
  const concurrencyKey = { key: 'db', limit: 2 }
  const keys = new KeyCounts([[nameOfKey('acme', 'db'), 1]])
  const waiting = (id: string) => [{ ...one(id), concurrencyKey }]
  assert.deepEqual(planRelease(job({ concurrencyKey, waiting: waiting('a') }), keys).go, ['a'])
  assert.deepEqual(planRelease(job({ concurrencyKey, waiting: waiting('b') }), keys).go, [])
  const elsewhere = job({ tenantId: 'other', concurrencyKey, waiting: waiting('c') })
  assert.deepEqual(planRelease(elsewhere, keys).go, ['c'])
})

test('a limit below the number of executions that hold the key lets nothing go', () => {
  const concurrencyKey = { key: 'db', limit: 1 }
  const keys = new KeyCounts([[nameOfKey('acme', 'db'), 3]])
  assert.deepEqual(planRelease(job({ waiting: [{ ...one('a'), concurrencyKey }] }), keys).go, [])
})

test('backfilled executions run beside others of their backfill and beside nothing else', () => {
  const waiting = [one('next', { kind: 'backfill', operationId: 'o1' })]
  assert.deepEqual(plan({ waiting, underWay: 2, underWayOf: 'o1' }).go, ['next'])
  assert.deepEqual(plan({ waiting, underWay: 2, underWayOf: 'o2' }).go, [])
  assert.deepEqual(plan({ waiting, underWay: 2, underWayOf: null }).go, [])
})

test('CANCEL_RUNNING: the latest slot ends everything before it, and then goes, before people', () => {
  const base = { overlapPolicy: 'CANCEL_RUNNING' } as const
  const waiting = [slot('s2', 2), slot('s3', 3), one('person', { rank: at(-9) })]
  const cancel = { waiting: ['s2'], underWay: true, bySlot: at(3) }
  assert.deepEqual(plan({ ...base, waiting, underWay: 1, uncancelled: 1 }), { ...nothing, cancel })
  const rest = waiting.slice(1)
  assert.deepEqual(plan({ ...base, waiting: rest, underWay: 1, uncancelled: 0 }), nothing)
  assert.deepEqual(plan({ ...base, waiting: rest }), { ...nothing, go: ['s3'] })
  assert.deepEqual(plan({ ...base, waiting: [one('person')], underWay: 1, uncancelled: 1 }), nothing)
  const idle = plan({ ...base, waiting })
  assert.deepEqual(idle, { ...nothing, go: ['s3'], cancel: { ...cancel, underWay: false } })
})

test('after_completion: the next slot comes an interval after the end, in whole seconds, never early', () => {
  const schedule = { type: 'INTERVAL', every_seconds: 60, after_completion: true } as const
  const next = (endedAt: EpochMs | null, changes: object = {}) =>
    plan({ schedule: { ...schedule, ...changes }, awaits: { endedAt } }).next
  assert.equal(next(null), null)
  assert.deepEqual(next(at(10)), { slotAt: at(70), dueAt: at(70) })
  assert.deepEqual(next(epochMs(at(10) + 1)), { slotAt: at(71), dueAt: at(71) })
  assert.deepEqual(next(at(10), { end_at: '2026-01-01T00:01:00Z' }), { slotAt: null, dueAt: null })
  assert.deepEqual(next(at(10), { start_at: '2020-01-01T00:00:07Z' }), { slotAt: at(70), dueAt: at(70) })
})

test('after_completion: the one slot that it owes is on no grid', () => {
  const schedule = { type: 'INTERVAL', every_seconds: 60, after_completion: true } as const
  const { owed: made } = plan({ schedule, owed: owed(33, 33), awaits: { endedAt: null } })
  assert.deepEqual(made, { slots: [at(33)], state: 'ready', skips: [], left: null })
})

test('CANCEL_RUNNING: nothing that is owed is cancelled by a slot that waits behind it', () => {
  const base = { overlapPolicy: 'CANCEL_RUNNING', owed: owed(10, 12) } as const
  const waiting = [slot('s20', 20), slot('s21', 21)]
  assert.deepEqual(plan({ ...base, waiting, underWay: 1, uncancelled: 1 }), nothing)
  assert.deepEqual(plan({ ...base, waiting }).owed?.slots, [at(10)])
  assert.equal(plan({ ...base, waiting }).cancel, null)
})

test('CANCEL_RUNNING: of the slots that wait in front of owed slots only the latest stays', () => {
  const base = { overlapPolicy: 'CANCEL_RUNNING', owed: owed(10, 12) } as const
  const waiting = [slot('s7', 7), slot('s8', 8), slot('s9', 9), slot('s20', 20), slot('s21', 21)]
  const superseded = { waiting: ['s8', 's7'], underWay: false, bySlot: at(9) }
  const busy = plan({ ...base, waiting, underWay: 1, uncancelled: 1 })
  assert.deepEqual([busy.cancel, busy.go], [superseded, []])
  const free = plan({ ...base, waiting })
  assert.deepEqual([free.cancel, free.go, free.owed], [superseded, ['s9'], null])
})

test('nothing of a root goes while a run of it is under way', () => {
  const runs = { graphId: 'g', runsUnderWay: 1, uncancelled: 1 }
  const waiting = [one('person'), slot('s2', 2)]
  assert.deepEqual(plan({ ...runs, waiting }), nothing)
  assert.deepEqual(plan({ ...runs, runsUnderWay: 0, waiting }).go, ['person'])
  assert.deepEqual(plan({ ...runs, owed: owed(10, 12) }), nothing, 'nor what is owed')
  assert.deepEqual(plan({ ...runs, runsUnderWay: 0, owed: owed(10, 12) }).owed?.slots, [at(10)])
})

test('where overlap is allowed a run is in nobody’s way', () => {
  const runs = { graphId: 'g', runsUnderWay: 3, concurrencyLimit: 1, overlapPolicy: 'ALLOW' } as const
  assert.deepEqual(plan({ ...runs, waiting: [slot('s2', 2)] }).go, ['s2'])
})

test('a run of a backfill is in the way of all but others of that backfill', () => {
  const runs = { graphId: 'g', runsUnderWay: 1 }
  const waiting = [one('next', { kind: 'backfill', operationId: 'o1' })]
  assert.deepEqual(plan({ ...runs, waiting, underWayOf: 'o1' }).go, ['next'])
  assert.deepEqual(plan({ ...runs, waiting, underWayOf: 'o2' }).go, [])
  assert.deepEqual(plan({ ...runs, waiting: [one('person')], underWayOf: 'o1' }).go, [])
})

test('an execution that is part of a run waits for executions of its job, not for runs', () => {
  for (const kind of ['dependency', 'retry'] as const) {
    const waiting = [one('node', { kind, inRun: true })]
    assert.deepEqual(plan({ waiting, runsUnderWay: 1 }).go, ['node'])
    assert.deepEqual(plan({ waiting, runsUnderWay: 1, underWay: 1 }).go, [])
  }
})

test('a job behind the roots and a resumed root are part of an open run; a retry that runs alone is not', () => {
  assert.equal(isOfOpenRun({ kind: 'dependency', runId: 'r' }), true)
  assert.equal(isOfOpenRun({ kind: 'retry', runId: 'r' }), true)
  assert.equal(isOfOpenRun({ kind: 'retry', runId: null }), false)
  for (const kind of ['slot', 'trigger', 'backfill'] as const)
    assert.equal(isOfOpenRun({ kind, runId: 'r' }), false, `a ${kind} starts its run`)
})

test('an execution that is part of a run passes executions that a run holds back, and nothing else', () => {
  const key = { concurrencyKey: { key: 'k', limit: 1 } }
  const nodes = [
    one('node', { kind: 'dependency', inRun: true, rank: at(5) }),
    one('next', { kind: 'dependency', inRun: true, rank: at(6) }),
  ]
  const waiting = [one('person'), slot('s20', 20, 1), ...nodes]
  assert.deepEqual(plan({ waiting }).go, ['person'])
  assert.deepEqual(plan({ waiting, runsUnderWay: 1 }), { ...nothing, go: ['node'] })
  assert.deepEqual(plan({ waiting, runsUnderWay: 1, underWay: 1 }), nothing)
  const behindOwed = { waiting: waiting.slice(1), owed: owed(10, 12) }
  assert.deepEqual(plan({ ...behindOwed, runsUnderWay: 1 }), { ...nothing, go: ['node'] })
  assert.deepEqual(
    plan(behindOwed).owed?.slots,
    [at(10)],
    'what is owed comes first, if no run holds it back',
  )
  const limited = [one('person', key), one('node', { kind: 'dependency', inRun: true, rank: at(5) })]
  const held = new KeyCounts([[nameOfKey('acme', 'k'), 1]])
  assert.deepEqual(
    planRelease(job({ waiting: limited }), held).go,
    [],
    'one that its key holds back is not passed',
  )
})

test('a slot that is older than every run under way waits for none of them, owed or not', () => {
  const runs = { runsUnderWay: 2, runsFrom: at(15) }
  const waiting = [one('person'), slot('s20', 20, 1)]
  assert.deepEqual(plan({ waiting, ...runs }), nothing)
  assert.deepEqual(plan({ waiting: [...waiting, slot('s14', 14, 2)], ...runs }), { ...nothing, go: ['s14'] })
  assert.deepEqual(plan({ waiting, owed: owed(10, 12), ...runs }).owed?.slots, [at(10)])
  assert.deepEqual(plan({ waiting, owed: owed(10, 12), ...runs, underWay: 1 }), nothing)
  assert.deepEqual(plan({ waiting, owed: owed(16, 18), ...runs }), nothing)
  assert.deepEqual(plan({ waiting, owed: owed(10, 12), runsUnderWay: 2 }), nothing, 'one is of a trigger')
})

test('CANCEL_RUNNING: a run that goes on after its root has ended makes way too, and is waited for', () => {
  const base = { overlapPolicy: 'CANCEL_RUNNING', graphId: 'g', waiting: [slot('s3', 3)] } as const
  const cancel = { waiting: [], underWay: true, bySlot: at(3) }
  assert.deepEqual(plan({ ...base, runsUnderWay: 1, uncancelled: 1 }), { ...nothing, cancel })
  assert.deepEqual(plan({ ...base, runsUnderWay: 1, uncancelled: 0 }), nothing, 'it was cancelled before')
  assert.deepEqual(plan(base).go, ['s3'])
})
