import assert from 'node:assert/strict'
import test from 'node:test'
import { executionId, type Given, jobId, origin, setup, slot } from '../../../test/http-attempt.ts'
import { createVirtualWorld, type ScriptedAnswer } from '../../../test/virtual-world.ts'
import type { RetryPolicy } from '../../domain/queue/retry.ts'
import { epochMs } from '../../lib/time/epoch.ts'
import type { HttpErrorType, HttpRequest } from '../../ports/http.ts'
import { createSpanIds } from './http.ts'

// By `printf %s 'job:time' | sha256sum`, and of 'job:execution': the first 32 digits.
const keyOfSlot = '849bf95ed4d85f81c96ee1adc14744ba'
const keyOfExecution = '6fa3632594f3cbb992967ccb4e632fd0'

test('an attempt sends the headers of the specification, and these only', async () => {
  const { headers } = await setup({ held: { attempt: 3 } }).sent()
  const { traceparent, ...others } = headers
  assert.deepEqual(others, {
    'user-agent': 'carillon/1.2.3',
    'content-type': 'application/json',
    'x-idempotency-key': keyOfSlot,
    'x-execution-id': executionId,
    'x-job-id': jobId,
    'x-attempt-number': '3',
    'x-scheduled-time': '2026-01-25T10:00:00Z',
    'webhook-id': executionId,
    'webhook-timestamp': '1767225600',
    'webhook-signature': `signature of ${executionId}.1767225600.`,
    'x-carillon-token': `token of t ${executionId} 3 1`,
  })
  assert.equal(traceparent, '00-019b7a004c00700080000000000000a7-00f067aa0ba902b7-01')
})

test('an attempt knows the bytes of its call, if the call was made', async () => {
  const answer = { kind: 'answered', status: 200, headers: {}, preview: new Uint8Array() } as const
  const cut = { kind: 'failed', type: 'CONNECTION_RESET', message: 'cut' } as const
  for (const outcome of [answer, cut]) {
    const http = {
      async send({ onTraffic }: HttpRequest) {
        onTraffic?.(321, 45)
        return outcome
      },
    }
    const { end } = await setup().run(http)
    assert.deepEqual(end!.usage, { bytesSent: 321, bytesReceived: 45 })
  }
  const forbidden = { kind: 'failed', type: 'TARGET_FORBIDDEN', message: 'private' } as const
  assert.equal((await setup().run({ send: async () => forbidden })).end!.usage, undefined)
})

test('an attempt in a graph run names the run', async () => {
  const { headers } = await setup({ held: { runId: 'r' } }).sent()
  assert.equal(headers['x-carillon-graph-run-id'], 'r')
})

test('every attempt is a span of its own, of 16 hex digits and never all zero', () => {
  const next = createSpanIds(createVirtualWorld().random)
  const spans = Array.from({ length: 1_000 }, next)
  assert.equal(new Set(spans).size, 1_000)
  assert(spans.every((span) => /^[\da-f]{16}$/.test(span) && !/^0+$/.test(span)))
  const others = createSpanIds(createVirtualWorld({ seed: 2 }).random)
  assert(!spans.includes(others()), 'another process has others')
})

test('a trigger’s key is that of its execution; a redrive’s is the one it brings', async () => {
  const trigger = await setup({ held: { kind: 'trigger' } }).sent()
  assert.equal(trigger.headers['x-idempotency-key'], keyOfExecution)
  const redrive = await setup({ held: { kind: 'redrive', idempotencyKey: 'of the original' } }).sent()
  assert.equal(redrive.headers['x-idempotency-key'], 'of the original')
})

test('two executions of different slots in a row each send their own time', async () => {
  const one = await setup().sent()
  const two = await setup({ held: { slot: epochMs(slot + 1_000) } }).sent()
  assert.equal(one.headers['x-scheduled-time'], '2026-01-25T10:00:00Z')
  assert.equal(two.headers['x-scheduled-time'], '2026-01-25T10:00:01Z')
  assert.notEqual(one.headers['x-idempotency-key'], two.headers['x-idempotency-key'])
})

test('the job’s own headers are sent, and replace ours of convenience in any case', async () => {
  const headers = { Authorization: 'Bearer x', 'USER-agent': 'mine', 'Content-TYPE': 'text/plain' }
  const sent = await setup({ execution: { headers } }).sent()
  const names = Object.keys(sent.headers).map((name) => name.toLowerCase())
  assert.equal(new Set(names).size, names.length, 'none is sent twice')
  assert.equal(sent.headers['Authorization'], 'Bearer x')
  assert.equal(sent.headers['USER-agent'], 'mine')
  assert.equal(sent.headers['Content-TYPE'], 'text/plain')
})

test('no header of a job replaces one of ours, in any letter case', async () => {
  const headers = {
    ...{ 'X-Execution-ID': 'forged', 'x-JOB-id': 'forged', Traceparent: 'forged' },
    ...{ 'Webhook-Signature': 'forged', 'X-Carillon-Token': 'forged', 'x-carillon-anything': 'forged' },
  }
  const sent = await setup({ execution: { headers } }).sent()
  const values = Object.entries(sent.headers).map(([name, value]) => [name.toLowerCase(), value])
  assert.deepEqual(
    values.filter(([name]) => name === 'x-execution-id'),
    [['x-execution-id', executionId]],
  )
  assert(values.every(([, value]) => value !== 'forged'))
})

test('tenant, method, address, timeout and limits are taken from the job', async () => {
  const { tenantId, method, url, target, timeoutMs, responseBytesMax, previewBytesMax } = await setup().sent()
  assert.deepEqual(
    { tenantId, method, url, target },
    {
      tenantId: 't',
      method: 'PUT',
      url: `${origin}/hook?a=1`,
      target: { origin, path: '/hook?a=1' },
    },
  )
  assert.deepEqual([timeoutMs, responseBytesMax, previewBytesMax], [30_000, 1_048_576, 4_096])
  assert.equal(setup().prepared.host, 'example.com:8443 t')
})

for (const { name, given, body } of [
  {
    name: 'a payload is sent as JSON',
    given: { execution: { payload: { a: [1, 'ü'] } } },
    body: '{"a":[1,"ü"]}',
  },
  { name: 'a payload of null is a body too', given: { execution: { payload: null } }, body: 'null' },
  { name: 'without a payload there is no body', given: {}, body: undefined },
  {
    name: 'the payload of a trigger replaces the job’s',
    given: { execution: { payload: { a: 1 } }, held: { bodyOverride: '{"b":2}' } },
    body: '{"b":2}',
  },
] satisfies { name: string; given: Given; body: string | undefined }[]) {
  test(name, async () => {
    assert.equal((await setup(given).sent()).body, body)
  })
}

for (const status of [200, 201, 202, 204, 299]) {
  test(`${status} succeeds`, async () => {
    const { answered, startAt } = setup()
    assert.deepEqual(await answered({ status, body: 'done', afterMs: 250 }), {
      outcome: 'succeeded',
      startedAt: startAt,
      finishedAt: epochMs(startAt + 250),
      durationMs: 250,
      httpStatus: status,
      error: null,
      preview: 'done',
      retryAt: null,
      deadReason: null,
    })
  })
}

for (const { status, message } of [
  { status: 301, message: 'Callback returned 301 Moved Permanently' },
  { status: 304, message: 'Callback returned 304 Not Modified' },
  { status: 400, message: 'Callback returned 400 Bad Request' },
  { status: 404, message: 'Callback returned 404 Not Found' },
  { status: 499, message: 'Callback returned 499' },
]) {
  test(`${status} fails for good`, async () => {
    const end = await setup().answered({ status, body: 'no', headers: { 'retry-after': '5' } })
    assert.deepEqual([end.outcome, end.httpStatus, end.preview], ['failed', status, 'no'])
    assert.deepEqual(end.error, { type: 'HTTP_ERROR', message })
    assert.deepEqual([end.retryAt, end.deadReason], [null, 'NOT_RETRYABLE'])
  })
}

for (const { status, retryAfter, waitMs } of [
  { status: 500, retryAfter: null, waitMs: 1_000 },
  { status: 503, retryAfter: '7', waitMs: 7_000 },
  { status: 429, retryAfter: null, waitMs: 1_000 },
  { status: 429, retryAfter: ' 120 ', waitMs: 120_000 },
  { status: 429, retryAfter: '0', waitMs: 1_000 },
  { status: 429, retryAfter: '999999999', waitMs: 3_600_000 },
  { status: 429, retryAfter: 'Thu, 01 Jan 2026 00:02:00 GMT', waitMs: 120_000 },
  { status: 429, retryAfter: 'Thu, 01 Jan 2026 05:00:00 GMT', waitMs: 3_600_000 },
  { status: 429, retryAfter: 'Wed, 31 Dec 2025 23:00:00 GMT', waitMs: 1_000 },
  { status: 429, retryAfter: 'soon', waitMs: 1_000 },
]) {
  test(`${status} with Retry-After ${retryAfter} is retried after ${waitMs} ms`, async () => {
    const { answered, startAt } = setup()
    const headers: Record<string, string> = retryAfter === null ? {} : { 'retry-after': retryAfter }
    const end = await answered({ status, headers })
    assert.deepEqual([end.outcome, end.error?.type], ['failed', 'HTTP_ERROR'])
    assert.equal(end.retryAt! - startAt, waitMs)
    assert.equal(end.deadReason, null)
  })
}

test('a call without an answer in time is timed out and retried', async () => {
  const { answered, startAt } = setup()
  const end = await answered({ status: 200, afterMs: 40_000 })
  assert.deepEqual([end.outcome, end.error?.type, end.httpStatus], ['timed_out', 'TIMEOUT', null])
  assert.equal(end.durationMs, 30_000)
  assert.equal(end.retryAt, startAt + 31_000, 'the delay counts from its end')
})

for (const [type, { as, retried }] of Object.entries({
  CONNECTION_REFUSED: { as: 'CONNECTION_REFUSED', retried: true },
  CONNECTION_RESET: { as: 'CONNECTION_RESET', retried: true },
  DNS_RESOLUTION_FAILED: { as: 'DNS_RESOLUTION_FAILED', retried: true },
  INVALID_RESPONSE: { as: 'CONNECTION_RESET', retried: true },
  TLS_ERROR: { as: 'TLS_ERROR', retried: false },
  TARGET_FORBIDDEN: { as: 'TARGET_FORBIDDEN', retried: false },
  RESPONSE_TOO_LARGE: { as: 'RESPONSE_TOO_LARGE', retried: false },
  INVALID_REQUEST: { as: 'HTTP_ERROR', retried: false },
})) {
  test(`${type} is ${as} and ${retried ? 'retried' : 'final'}`, async () => {
    const end = await setup().failed(type as HttpErrorType)
    assert.deepEqual(end!.error, { type: as, message: 'as the client says it' })
    assert.deepEqual([end!.outcome, end!.httpStatus, end!.preview], ['failed', null, null])
    assert.deepEqual([end!.retryAt !== null, end!.deadReason], [retried, retried ? null : 'NOT_RETRYABLE'])
  })
}

test('a response beyond a mebibyte is too large, one of a mebibyte is not', async () => {
  const large = await setup().answered({ status: 200, body: 'x'.repeat(1_048_577) })
  assert.equal(large.error?.type, 'RESPONSE_TOO_LARGE')
  const allowed = await setup().answered({ status: 200, body: 'x'.repeat(1_048_576) })
  assert.equal(allowed.outcome, 'succeeded')
})

test('a call that we aborted because it is no longer ours has no end', async () => {
  assert.equal(await setup().failed('CANCELLED'), null)
})

/** A call that is aborted after 400 ms, of an execution that somebody cancelled. */
async function abortAfter(answer: ScriptedAnswer) {
  const { world, start, held, startAt } = setup()
  world.http.answer(origin, () => answer)
  const { ended, abort } = start()
  await world.advance(400)
  held.cancelledMs = world.clock.monotonicMs()
  abort.abort()
  await world.advance(0)
  return { end: (await ended).end, startAt, pending: world.timers.pending }
}

test('a call that was cancelled is aborted at once and ends as that, with its times', async () => {
  const { end, startAt, pending } = await abortAfter({ status: 200, afterMs: 10_000 })
  assert.deepEqual(end, {
    outcome: 'cancelled',
    startedAt: startAt,
    finishedAt: epochMs(startAt + 400),
    durationMs: 400,
    httpStatus: null,
    error: { type: 'CANCELLED', message: 'The call was aborted.' },
    preview: null,
    retryAt: null,
    deadReason: null,
  })
  assert.equal(pending, 0, 'nothing of the call goes on')
})

test('a response that arrived before the cancellation is reported unchanged', async () => {
  const { end } = await abortAfter({ status: 200, body: 'done', afterMs: 399 })
  assert.deepEqual([end!.outcome, end!.httpStatus, end!.preview], ['succeeded', 200, 'done'])
})

test('of the response the first 4 KB are kept, of none nothing', async () => {
  assert.equal((await setup().answered({ status: 200, body: 'x'.repeat(5_000) })).preview, 'x'.repeat(4_096))
  assert.equal((await setup().answered({ status: 204 })).preview, null)
})

test('characters that PostgreSQL cannot store are replaced: NUL and invalid UTF-8', async () => {
  assert.equal((await setup().answered({ status: 200, body: 'a\0b' })).preview, 'a\ufffdb')
  const preview = Uint8Array.from([0x61, 0xff, 0x62, 0xc3])
  const end = (
    await setup().run({ send: async () => ({ kind: 'answered', status: 200, headers: {}, preview }) })
  ).end
  assert.equal(end!.preview, 'a\ufffdb\ufffd')
  assert.equal((await setup().failed('CONNECTION_RESET', 'a\0b'))!.error!.message, 'a\ufffdb')
})

test('a preview is a part of a larger buffer at times', async () => {
  const preview = Buffer.from('before the answer after').subarray(11, 17)
  const { end } = await setup().run({
    send: async () => ({ kind: 'answered', status: 200, headers: {}, preview }),
  })
  assert.equal(end!.preview, 'answer')
})

test('a message of any length is cut', async () => {
  assert.equal((await setup().failed('TLS_ERROR', 'x'.repeat(5_000)))!.error!.message.length, 1_024)
})

test('max_retries counts attempts after the first', async () => {
  const after = async (attempt: number, max_retries: number, losses = 0) => {
    const { answered } = setup({ held: { attempt, losses }, retryPolicy: { max_retries } })
    return (await answered({ status: 500 })).deadReason
  }
  assert.equal(await after(1, 0), 'MAX_RETRIES_EXCEEDED')
  assert.equal(await after(3, 3), null)
  assert.equal(await after(4, 3), 'MAX_RETRIES_EXCEEDED')
  assert.equal(await after(5, 3, 2), null, 'lost attempts spend none')
  assert.equal(await after(6, 3, 2), 'MAX_RETRIES_EXCEEDED')
})

test('lost attempts do not lengthen the delay either', async () => {
  const retryPolicy: Partial<RetryPolicy> = { backoff: 'EXPONENTIAL' }
  const { answered, startAt } = setup({ held: { attempt: 4, losses: 2 }, retryPolicy })
  assert.equal((await answered({ status: 500 })).retryAt! - startAt, 2_000)
})

test('an attempt starts when its request is handed to a connection', async () => {
  const { run, world, startAt } = setup()
  const { end } = await run({
    async send(request) {
      await world.timers.wait(400)
      request.onStarted!()
      await world.timers.wait(30)
      return { kind: 'answered', status: 200, headers: {}, preview: new Uint8Array() }
    },
  })
  assert.deepEqual([end!.startedAt! - startAt, end!.durationMs, end!.finishedAt - startAt], [400, 30, 430])
})
