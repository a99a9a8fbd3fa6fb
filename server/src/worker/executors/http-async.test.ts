import assert from 'node:assert/strict'
import test from 'node:test'
import { executionId, origin, setup } from '../../../test/http-attempt.ts'
import { epochMs } from '../../lib/time/epoch.ts'

const taken = { status: 202, headers: { 'x-carillon-async': 'true' } }

test('the signature covers the body as sent: the body of the job, of the trigger, or none', async () => {
  const signed = async (given: Parameters<typeof setup>[0]) =>
    (await setup(given).sent()).headers['webhook-signature']
  const prefix = `signature of ${executionId}.1767225600.`
  assert.equal(await signed({ execution: { payload: { a: 'ü' } } }), `${prefix}{"a":"ü"}`)
  assert.equal(await signed({ held: { bodyOverride: '{"b":2}' } }), `${prefix}{"b":2}`)
  assert.equal(await signed({}), prefix)
})

test('a target is told where to say how it ended, when we know where it reaches us', async () => {
  const { headers } = await setup({ publicUrl: 'https://jobs.example/base' }).sent()
  assert.equal(
    headers['x-carillon-completion-url'],
    `https://jobs.example/base/api/v1/executions/${executionId}/complete`,
  )
  assert.equal((await setup().sent()).headers['x-carillon-completion-url'], undefined)
})

test('a target that takes it has the rest of the attempt’s time to say how it ended', async () => {
  const { world, run, held, startAt } = setup({ execution: { timeout_seconds: 90 } })
  world.http.answer(origin, () => ({ ...taken, afterMs: 400 }))
  const { end, outcome } = await run()
  assert.equal(end, null)
  assert(outcome?.kind === 'answered', 'its host is well')
  assert.equal(held.awaitingUntil, startAt + 90_000)
  assert.equal(held.startedAt, startAt)
})

test('an asynchronous attempt gets no more time than all attempts together have left', async () => {
  const { world, run, held, startAt } = setup({
    held: { totalDeadline: epochMs(Date.UTC(2026, 0, 1, 0, 0, 7)) },
  })
  world.http.answer(origin, () => taken)
  await run()
  assert.equal(held.awaitingUntil, startAt + 7_000)
  assert.equal(world.http.sent[0]!.request.timeoutMs, 7_000)
})

for (const answer of [
  { status: 200, headers: { 'x-carillon-async': 'true' } },
  { status: 202, headers: { 'x-carillon-async': 'false' } },
  { status: 202 },
]) {
  test(`${answer.status} with ${JSON.stringify(answer.headers)} is an ordinary success`, async () => {
    const { answered, held } = setup()
    assert.equal((await answered(answer)).outcome, 'succeeded')
    assert.equal(held.awaitingUntil, null)
  })
}

test('a call is given no more time than all attempts together have left, and never none', async () => {
  const totalDeadline = epochMs(Date.UTC(2026, 0, 1, 0, 0, 2))
  const { answered, world } = setup({ held: { totalDeadline } })
  const end = await answered({ status: 200, afterMs: 10_000 })
  assert.equal(world.http.sent[0]!.request.timeoutMs, 2_000)
  assert.deepEqual([end.outcome, end.retryAt, end.deadReason], ['timed_out', null, 'TOTAL_TIMEOUT'])
  const late = setup({ held: { totalDeadline: epochMs(Date.UTC(2025, 11, 31)) } })
  await late.answered({ status: 200 })
  assert.equal(late.world.http.sent[0]!.request.timeoutMs, 1)
})
