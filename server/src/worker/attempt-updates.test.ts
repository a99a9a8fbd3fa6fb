import assert from 'node:assert/strict'
import test from 'node:test'
import { makeLocalExecution } from '../../test/local-task.ts'
import { createVirtualWorld } from '../../test/virtual-world.ts'
import { firstLineOf } from '../domain/history/log.ts'
import { type AttemptEnd, checkpointBytesMax } from '../domain/queue/attempt.ts'
import type { AttemptUpdate, UpdateAnswer } from '../ports/attempts.ts'
import type { LogPart } from '../ports/logs.ts'
import { AttemptUpdates } from './attempt-updates.ts'
import type { HeldExecution } from './held-execution.ts'

function setup() {
  const world = createVirtualWorld()
  const noted: AttemptUpdate[][] = []
  const appended: LogPart[][] = []
  const told: string[] = []
  const states = new Map<string, UpdateAnswer['state']>()
  let away = false
  /** Called while a write is under way. */
  let meanwhile = () => {}
  async function write() {
    await null
    meanwhile()
    if (away) throw new Error('the database is away')
  }
  const notes = new AttemptUpdates({
    clock: world.clock,
    attempts: {
      async note(given) {
        await write()
        noted.push([...given])
        return given.map(({ executionId }) => ({ executionId, state: states.get(executionId) ?? 'noted' }))
      },
    },
    logs: {
      async append(parts) {
        await write()
        appended.push([...parts])
      },
    },
    workerId: () => 'a worker',
    onCancelled: ({ executionId }) => void told.push(`cancelled ${executionId}`),
    onGone: ({ executionId }) => void told.push(`gone ${executionId}`),
  })
  return {
    ...{ world, notes, noted, appended, told, states },
    setAway(isAway: boolean) {
      away = isAway
    },
    setMeanwhile(happens: () => void) {
      meanwhile = happens
    },
    /** First line and text of everything that was written of a task. */
    written: (held: HeldExecution) =>
      appended
        .flat()
        .flatMap(({ executionId, firstLine, lines }) =>
          executionId === held.executionId
            ? lines.map(({ message }, i) => `${firstLine + i} ${message}`)
            : [],
        ),
  }
}

const make = (execution = {}, changes: Partial<HeldExecution> = {}) =>
  makeLocalExecution(changes, execution).held
const withRetry = { retryAt: 1 } as unknown as AttemptEnd
const withoutRetry = { retryAt: null } as AttemptEnd

test('what several attempts said goes out in one write of each kind, under their marks', async () => {
  const { notes, noted, appended, world } = setup()
  const [a, b] = [make(), make({}, { attempt: 3, fence: 4, startedAt: world.clock.databaseNow() })]
  notes.log(a, 'info', 'one')
  notes.log(b, 'error', 'two')
  notes.log(a, 'debug', 'three')
  notes.note(a, { progress: 0.25, message: 'a quarter' })
  notes.note(b, { checkpoint: { row: 1 } })
  assert.equal(notes.isWaiting, true)
  await notes.send()
  assert.equal(notes.isWaiting, false)
  const mark = { jobId: a.jobId, workerId: 'a worker', alive: true }
  assert.deepEqual(noted, [
    [
      { ...mark, executionId: a.executionId, attempt: 1, fence: 1, progress: 0.25, message: 'a quarter' },
      {
        ...{ ...mark, executionId: b.executionId, attempt: 3, fence: 4, startedAt: b.startedAt },
        checkpoint: { row: 1 },
      },
    ],
  ])
  const at = world.clock.databaseNow()
  assert.deepEqual(appended, [
    [
      {
        ...{ tenantId: 'a tenant', executionId: a.executionId, attempt: 1, firstLine: 0 },
        lines: [
          { at, level: 'info', message: 'one' },
          { at, level: 'debug', message: 'three' },
        ],
      },
      {
        ...{ tenantId: 'a tenant', executionId: b.executionId, attempt: 3 },
        // It was handed back once and is run again: its lines follow those of the run before.
        firstLine: firstLineOf({ attempt: 3, fence: 4 }),
        lines: [{ at, level: 'error', message: 'two' }],
      },
    ],
  ])
  await notes.send()
  assert.deepEqual([noted.length, appended.length], [1, 1], 'nothing is written twice')
})

test('the latest of what is said of progress and checkpoint counts, each for itself', async () => {
  const { notes, noted } = setup()
  const held = make()
  notes.note(held, { progress: 0.1, message: 'a', checkpoint: 1 })
  notes.note(held, { progress: 0.2 })
  notes.note(held, { checkpoint: null })
  await notes.send()
  const [{ progress, message, checkpoint }] = noted[0]! as [AttemptUpdate]
  assert.deepEqual({ progress, message, checkpoint }, { progress: 0.2, message: 'a', checkpoint: null })
})

test('a bare sign of life is passed on only where its absence would end the attempt', async () => {
  const { notes, noted } = setup()
  const [plain, watched] = [make(), make({ heartbeat_timeout_seconds: 60 })]
  notes.note(plain, {})
  notes.note(watched, {})
  await notes.send()
  assert.deepEqual(
    noted.map((one) => one.map(({ executionId, alive }) => [executionId, alive])),
    [[[watched.executionId, true]]],
  )
})

test('values that cannot be kept are put right, and no attempt fails for them', async () => {
  const { notes, noted, written } = setup()
  const held = make()
  const circular: Record<string, unknown> = {}
  circular['self'] = circular
  notes.note(held, { progress: 7, message: `\0${'x'.repeat(500)}` })
  notes.note(held, { progress: Number.NaN, checkpoint: circular })
  notes.note(held, { checkpoint: 'x'.repeat(checkpointBytesMax) })
  notes.note(held, { checkpoint: () => {} })
  await notes.send()
  const [{ progress, message, ...others }] = noted[0]! as [AttemptUpdate]
  assert.deepEqual([progress, message!.length, message![0]], [1, 255, '\ufffd'])
  assert.equal('checkpoint' in others, false)
  assert.equal(written(held).length, 3)
  assert(written(held).every((line) => line.includes('The checkpoint was not kept: ')))
})

test('a checkpoint is as it was when it was handed over', async () => {
  const { notes, noted } = setup()
  const held = make()
  const state = { row: 1 }
  notes.note(held, { checkpoint: state })
  state.row = 2
  await notes.send()
  assert.deepEqual(noted[0]![0]!.checkpoint, { row: 1 })
})

test('while the store is away everything is kept and goes out once; what is newer counts', async () => {
  const { notes, noted, setAway, written } = setup()
  const held = make()
  notes.log(held, 'info', 'one')
  notes.note(held, { progress: 0.1, message: 'a' })
  setAway(true)
  await assert.rejects(notes.send(), /away/)
  notes.log(held, 'info', 'two')
  notes.note(held, { progress: 0.2 })
  await assert.rejects(notes.send(), /away/)
  setAway(false)
  await notes.send()
  const [{ progress, message }] = noted[0]! as [AttemptUpdate]
  assert.deepEqual([noted.length, progress, message], [1, 0.2, 'a'])
  assert.deepEqual(written(held), ['0 one', '1 two'])
})

test('lines that come while others are written follow them', async () => {
  const { notes, setMeanwhile, written } = setup()
  const held = make()
  notes.log(held, 'info', 'one')
  setMeanwhile(() => {
    setMeanwhile(() => {})
    notes.log(held, 'info', 'two')
  })
  await notes.send()
  notes.log(held, 'info', 'three')
  await notes.send()
  assert.deepEqual(written(held), ['0 one', '1 two', '2 three'])
})

test('two writes at once are one after the other, and nothing goes out twice', async () => {
  const { notes, written } = setup()
  const held = make()
  notes.log(held, 'info', 'one')
  await Promise.all([notes.send(), notes.send()])
  assert.deepEqual(written(held), ['0 one'])
})

test('what is said while a write fails counts more than what failed', async () => {
  const { notes, noted, setAway, setMeanwhile } = setup()
  const held = make()
  notes.note(held, { progress: 0.1, message: 'a' })
  setAway(true)
  setMeanwhile(() => notes.note(held, { progress: 0.2 }))
  await assert.rejects(notes.send(), /away/)
  setAway(false)
  setMeanwhile(() => {})
  await notes.send()
  const [{ progress, message }] = noted[0]! as [AttemptUpdate]
  assert.deepEqual([progress, message], [0.2, 'a'])
})

test('beyond a thousand lines that wait, lines are left out and it says how many', async () => {
  const { notes, written } = setup()
  const held = make()
  for (let i = 0; i < 1_005; i++) notes.log(held, 'info', String(i))
  notes.end(held)
  await notes.send()
  const lines = written(held)
  assert.equal(lines.length, 1_001)
  assert.equal(lines.at(-2), '999 999')
  assert.match(lines.at(-1)!, /^1000 5 lines are missing here/)
})

test('lines that wait have at most 256 KB, a line at most 8,192 characters, an attempt twice 256 KB', async () => {
  const { notes, written } = setup()
  const held = make()
  const long = 'x'.repeat(100_000)
  for (let i = 0; i < 40; i++) notes.log(held, 'info', long)
  await notes.send()
  const lines = written(held)
  assert.equal(lines[0]!.length, '0 '.length + 8_192)
  assert.equal(lines.length, 31 + 1, 'and the line that says that some are missing')
  for (let round = 0; round < 5; round++) {
    for (let i = 0; i < 31; i++) notes.log(held, 'info', long)
    await notes.send()
  }
  // The store keeps 256 KB of an attempt and says that there was more: nothing beyond that is of use.
  assert(written(held).length < 70)
})

test('what is gone is given up, what was cancelled is stopped', async () => {
  const { notes, states, told } = setup()
  const [gone, cancelled, well] = [make(), make(), make()]
  states.set(gone.executionId, 'gone')
  states.set(cancelled.executionId, 'cancelled')
  for (const held of [gone, cancelled, well]) notes.note(held, { progress: 0.5 })
  await notes.send()
  assert.deepEqual(told, [`gone ${gone.executionId}`, `cancelled ${cancelled.executionId}`])
})

test('asking says nothing of the attempt itself', async () => {
  const { notes, noted, states, told } = setup()
  const [a, b] = [make(), make()]
  states.set(b.executionId, 'gone')
  await notes.ask([a, b])
  assert.deepEqual(
    noted.map((one) => one.map(({ executionId, alive }) => [executionId, alive])),
    [
      [
        [a.executionId, false],
        [b.executionId, false],
      ],
    ],
  )
  assert.deepEqual(told, [`gone ${b.executionId}`])
  await notes.ask([])
  assert.equal(noted.length, 1)
})

test('of an attempt that has ended the log goes out, and its checkpoint if another attempt follows', async () => {
  const { notes, noted, written } = setup()
  const [retried, done] = [make(), make()]
  for (const held of [retried, done]) {
    notes.log(held, 'info', 'last words')
    notes.note(held, { progress: 1, checkpoint: 1 })
    notes.end(held)
  }
  retried.end = withRetry
  done.end = withoutRetry
  await notes.send()
  assert.deepEqual(
    noted.map((one) => one.map(({ executionId }) => executionId)),
    [[retried.executionId]],
  )
  assert.deepEqual([...written(retried), ...written(done)], ['0 last words', '0 last words'])
  assert.equal(notes.isWaiting, false)
})

test('one that goes on talking after its end is not heard', async () => {
  const { notes, noted, appended } = setup()
  const held = make({ heartbeat_timeout_seconds: 60 })
  notes.log(held, 'info', 'before')
  notes.end(held)
  notes.log(held, 'info', 'after')
  notes.note(held, { progress: 1 })
  await notes.send()
  notes.log(held, 'info', 'much later')
  notes.note(held, {})
  assert.equal(notes.isWaiting, false)
  assert.deepEqual([noted, appended.flat().map(({ lines }) => lines.length)], [[], [1]])
})
