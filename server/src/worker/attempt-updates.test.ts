import assert from 'node:assert/strict'
import test from 'node:test'
import { makeLocalExecution } from '../../test/local-execution.ts'
import { createVirtualWorld } from '../../test/virtual-world.ts'
import { firstLineOf } from '../domain/history/log.ts'
import { type AttemptEnd, checkpointBytesMax } from '../domain/queue/attempt.ts'
import type { AttemptUpdate, UpdateAnswer } from '../ports/attempts.ts'
import type { LogPart } from '../ports/logs.ts'
import { AttemptUpdates } from './attempt-updates.ts'
import type { HeldExecution } from './held-execution.ts'

function setup() {
  const world = createVirtualWorld()
  const sent: AttemptUpdate[][] = []
  const appended: LogPart[][] = []
  const callbacks: string[] = []
  const statuses = new Map<string, UpdateAnswer['status']>()
  let away = false
  /** Called while a write is under way. */
  let meanwhile = () => {}
  async function write() {
    await null
    meanwhile()
    if (away) throw new Error('the database is away')
  }
  const updates = new AttemptUpdates({
    clock: world.clock,
    attempts: {
      async update(given) {
        await write()
        sent.push([...given])
        return given.map(({ executionId }) => ({
          executionId,
          status: statuses.get(executionId) ?? 'updated',
        }))
      },
    },
    logs: {
      async append(parts) {
        await write()
        appended.push([...parts])
      },
    },
    workerId: () => 'a worker',
    onCancelled: ({ executionId }) => void callbacks.push(`cancelled ${executionId}`),
    onGone: ({ executionId }) => void callbacks.push(`gone ${executionId}`),
  })
  return {
    ...{ world, updates, sent, appended, callbacks, statuses },
    setAway(isAway: boolean) {
      away = isAway
    },
    setMeanwhile(happens: () => void) {
      meanwhile = happens
    },
    /** Number and text of every line that was written for an execution. */
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

test('updates of several attempts go out in one write of each kind, each with the ids of its attempt', async () => {
  const { updates, sent, appended, world } = setup()
  const [a, b] = [make(), make({}, { attempt: 3, fence: 4, startedAt: world.clock.databaseNow() })]
  updates.log(a, 'info', 'one')
  updates.log(b, 'error', 'two')
  updates.log(a, 'debug', 'three')
  updates.update(a, { progress: 0.25, message: 'a quarter' })
  updates.update(b, { checkpoint: { row: 1 } })
  assert.equal(updates.isWaiting, true)
  await updates.send()
  assert.equal(updates.isWaiting, false)
  const mark = { jobId: a.jobId, workerId: 'a worker', alive: true }
  assert.deepEqual(sent, [
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
        // It was handed back once and is run again: its lines follow the lines of the run before.
        firstLine: firstLineOf({ attempt: 3, fence: 4 }),
        lines: [{ at, level: 'error', message: 'two' }],
      },
    ],
  ])
  await updates.send()
  assert.deepEqual([sent.length, appended.length], [1, 1], 'nothing is written twice')
})

test('the latest progress and the latest checkpoint count, each for itself', async () => {
  const { updates, sent } = setup()
  const held = make()
  updates.update(held, { progress: 0.1, message: 'a', checkpoint: 1 })
  updates.update(held, { progress: 0.2 })
  updates.update(held, { checkpoint: null })
  await updates.send()
  const [{ progress, message, checkpoint }] = sent[0]! as [AttemptUpdate]
  assert.deepEqual({ progress, message, checkpoint }, { progress: 0.2, message: 'a', checkpoint: null })
})

test('a bare sign of life is passed on only where its absence would end the attempt', async () => {
  const { updates, sent } = setup()
  const [plain, watched] = [make(), make({ heartbeat_timeout_seconds: 60 })]
  updates.update(plain, {})
  updates.update(watched, {})
  await updates.send()
  assert.deepEqual(
    sent.map((one) => one.map(({ executionId, alive }) => [executionId, alive])),
    [[[watched.executionId, true]]],
  )
})

test('values that cannot be kept are put right, and no attempt fails for them', async () => {
  const { updates, sent, written } = setup()
  const held = make()
  const circular: Record<string, unknown> = {}
  circular['self'] = circular
  updates.update(held, { progress: 7, message: `\0${'x'.repeat(500)}` })
  updates.update(held, { progress: Number.NaN, checkpoint: circular })
  updates.update(held, { checkpoint: 'x'.repeat(checkpointBytesMax) })
  updates.update(held, { checkpoint: () => {} })
  await updates.send()
  const [{ progress, message, ...others }] = sent[0]! as [AttemptUpdate]
  assert.deepEqual([progress, message!.length, message![0]], [1, 255, '\ufffd'])
  assert.equal('checkpoint' in others, false)
  assert.equal(written(held).length, 3)
  assert(written(held).every((line) => line.includes('The checkpoint was not kept: ')))
})

test('a checkpoint is stored as it was when the attempt gave it', async () => {
  const { updates, sent } = setup()
  const held = make()
  const state = { row: 1 }
  updates.update(held, { checkpoint: state })
  state.row = 2
  await updates.send()
  assert.deepEqual(sent[0]![0]!.checkpoint, { row: 1 })
})

test('while the store is away updates are kept and go out once, and the newer values count', async () => {
  const { updates, sent, setAway, written } = setup()
  const held = make()
  updates.log(held, 'info', 'one')
  updates.update(held, { progress: 0.1, message: 'a' })
  setAway(true)
  await assert.rejects(updates.send(), /away/)
  updates.log(held, 'info', 'two')
  updates.update(held, { progress: 0.2 })
  await assert.rejects(updates.send(), /away/)
  setAway(false)
  await updates.send()
  const [{ progress, message }] = sent[0]! as [AttemptUpdate]
  assert.deepEqual([sent.length, progress, message], [1, 0.2, 'a'])
  assert.deepEqual(written(held), ['0 one', '1 two'])
})

test('lines that come while others are written follow them', async () => {
  const { updates, setMeanwhile, written } = setup()
  const held = make()
  updates.log(held, 'info', 'one')
  setMeanwhile(() => {
    setMeanwhile(() => {})
    updates.log(held, 'info', 'two')
  })
  await updates.send()
  updates.log(held, 'info', 'three')
  await updates.send()
  assert.deepEqual(written(held), ['0 one', '1 two', '2 three'])
})

test('two sends at once run one after the other, and no update goes out twice', async () => {
  const { updates, written } = setup()
  const held = make()
  updates.log(held, 'info', 'one')
  await Promise.all([updates.send(), updates.send()])
  assert.deepEqual(written(held), ['0 one'])
})

test('an update that comes while a write fails counts more than the failed one', async () => {
  const { updates, sent, setAway, setMeanwhile } = setup()
  const held = make()
  updates.update(held, { progress: 0.1, message: 'a' })
  setAway(true)
  setMeanwhile(() => updates.update(held, { progress: 0.2 }))
  await assert.rejects(updates.send(), /away/)
  setAway(false)
  setMeanwhile(() => {})
  await updates.send()
  const [{ progress, message }] = sent[0]! as [AttemptUpdate]
  assert.deepEqual([progress, message], [0.2, 'a'])
})

test('beyond a thousand waiting lines, lines are left out and the log says how many', async () => {
  const { updates, written } = setup()
  const held = make()
  for (let i = 0; i < 1_005; i++) updates.log(held, 'info', String(i))
  updates.end(held)
  await updates.send()
  const lines = written(held)
  assert.equal(lines.length, 1_001)
  assert.equal(lines.at(-2), '999 999')
  assert.match(lines.at(-1)!, /^1000 5 lines are missing here/)
})

test('waiting lines have at most 256 KB, a line at most 8,192 characters, an attempt at most 512 KB', async () => {
  const { updates, written } = setup()
  const held = make()
  const long = 'x'.repeat(100_000)
  for (let i = 0; i < 40; i++) updates.log(held, 'info', long)
  await updates.send()
  const lines = written(held)
  assert.equal(lines[0]!.length, '0 '.length + 8_192)
  assert.equal(lines.length, 31 + 1, 'and the line that says that some are missing')
  for (let round = 0; round < 5; round++) {
    for (let i = 0; i < 31; i++) updates.log(held, 'info', long)
    await updates.send()
  }
  // The store keeps 256 KB of an attempt and says that there was more: nothing beyond that is of use.
  assert(written(held).length < 70)
})

test('an execution that is gone is given up, and a cancelled one is stopped', async () => {
  const { updates, statuses, callbacks } = setup()
  const [gone, cancelled, well] = [make(), make(), make()]
  statuses.set(gone.executionId, 'gone')
  statuses.set(cancelled.executionId, 'cancelled')
  for (const held of [gone, cancelled, well]) updates.update(held, { progress: 0.5 })
  await updates.send()
  assert.deepEqual(callbacks, [`gone ${gone.executionId}`, `cancelled ${cancelled.executionId}`])
})

test('asking whether attempts are still ours writes no sign of life', async () => {
  const { updates, sent, statuses, callbacks } = setup()
  const [a, b] = [make(), make()]
  statuses.set(b.executionId, 'gone')
  await updates.ask([a, b])
  assert.deepEqual(
    sent.map((one) => one.map(({ executionId, alive }) => [executionId, alive])),
    [
      [
        [a.executionId, false],
        [b.executionId, false],
      ],
    ],
  )
  assert.deepEqual(callbacks, [`gone ${b.executionId}`])
  await updates.ask([])
  assert.equal(sent.length, 1)
})

test('the log of an attempt that has ended goes out, and its checkpoint if another attempt follows', async () => {
  const { updates, sent, written } = setup()
  const [retried, done] = [make(), make()]
  for (const held of [retried, done]) {
    updates.log(held, 'info', 'last words')
    updates.update(held, { progress: 1, checkpoint: 1 })
    updates.end(held)
  }
  retried.end = withRetry
  done.end = withoutRetry
  await updates.send()
  assert.deepEqual(
    sent.map((one) => one.map(({ executionId }) => executionId)),
    [[retried.executionId]],
  )
  assert.deepEqual([...written(retried), ...written(done)], ['0 last words', '0 last words'])
  assert.equal(updates.isWaiting, false)
})

test('updates of an attempt that go on after its end are ignored', async () => {
  const { updates, sent, appended } = setup()
  const held = make({ heartbeat_timeout_seconds: 60 })
  updates.log(held, 'info', 'before')
  updates.end(held)
  updates.log(held, 'info', 'after')
  updates.update(held, { progress: 1 })
  await updates.send()
  updates.log(held, 'info', 'much later')
  updates.update(held, {})
  assert.equal(updates.isWaiting, false)
  assert.deepEqual([sent, appended.flat().map(({ lines }) => lines.length)], [[], [1]])
})
