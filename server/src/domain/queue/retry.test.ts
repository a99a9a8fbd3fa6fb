import assert from 'node:assert/strict'
import test from 'node:test'
import { BACKOFFS, ERROR_TYPES } from '@carillon/contract/constants.ts'
import { hourMs } from '../../lib/time/units.ts'
import { type ErrorType, isRetried, type RetryPolicy, retryDelayMs } from './retry.ts'

/** The random that leaves a delay as it is. */
const middle = 0.5
const topmost = 1 - Number.EPSILON

function policy(changes: Partial<RetryPolicy> = {}): RetryPolicy {
  return {
    max_retries: 3,
    backoff: 'EXPONENTIAL',
    initial_delay_ms: 1_000,
    max_delay_ms: 60_000,
    ...changes,
  }
}

function delays(changes: Partial<RetryPolicy>, random: number, retryAfterMs: number | null = null): number[] {
  return [1, 2, 3, 4, 5, 6, 7, 8].map((attempt) =>
    retryDelayMs(policy(changes), { attempt, random, retryAfterMs }),
  )
}

const unlimited = 86_400_000

for (const { backoff, expected } of [
  { backoff: 'FIXED', expected: [1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000] },
  { backoff: 'LINEAR', expected: [1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000, 8_000] },
  { backoff: 'EXPONENTIAL', expected: [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000] },
] as const) {
  test(`${backoff} waits as the specification says`, () => {
    assert.deepEqual(delays({ backoff, max_delay_ms: unlimited }, middle), expected)
  })

  test(`${backoff} is spread from 0.75 to 1.25 of that`, () => {
    const least = expected.map((ms) => ms * 0.75)
    const most = expected.map((ms) => ms * 1.25)
    assert.deepEqual(delays({ backoff, max_delay_ms: unlimited }, 0), least)
    assert.deepEqual(delays({ backoff, max_delay_ms: unlimited }, topmost), most)
  })
}

test('the spread comes before the cap: a capped delay is never longer, and a small random may bring it below', () => {
  assert.deepEqual(
    delays({}, topmost),
    [1_250, 2_500, 5_000, 10_000, 20_000, 40_000, 60_000, 60_000],
    'never above max_delay_ms',
  )
  // 64,000 * 0.75 is below the cap; cap first would have given 45,000.
  assert.deepEqual(delays({}, 0), [750, 1_500, 3_000, 6_000, 12_000, 24_000, 48_000, 60_000])
})

test('a delay is a whole number of milliseconds', () => {
  assert.equal(
    retryDelayMs(policy({ initial_delay_ms: 333 }), { attempt: 1, random: 0, retryAfterMs: null }),
    250,
  )
})

test('however many attempts there were, the delay is the cap', () => {
  for (const backoff of BACKOFFS) {
    const delay = retryDelayMs(policy({ backoff }), { attempt: 10_000, random: middle, retryAfterMs: null })
    assert.equal(delay, backoff === 'FIXED' ? 1_000 : 60_000)
  }
})

test('a policy without a delay retries at once', () => {
  assert.deepEqual(delays({ initial_delay_ms: 0 }, topmost), [0, 0, 0, 0, 0, 0, 0, 0])
})

test('Retry-After raises the delay and never lowers it', () => {
  assert.deepEqual(
    delays({}, middle, 10_000),
    [10_000, 10_000, 10_000, 10_000, 16_000, 32_000, 60_000, 60_000],
  )
  assert.deepEqual(delays({}, middle, 0), delays({}, middle))
})

test('Retry-After may go beyond max_delay_ms, to at most an hour, and is not spread', () => {
  for (const random of [0, middle, topmost]) {
    assert.deepEqual(new Set(delays({}, random, 120_000)), new Set([120_000]))
    assert.deepEqual(new Set(delays({}, random, hourMs)), new Set([hourMs]))
    assert.deepEqual(new Set(delays({}, random, hourMs + 1)), new Set([hourMs]))
    assert.deepEqual(new Set(delays({}, random, 1e15)), new Set([hourMs]))
  }
})

test('an hour bounds Retry-After, not the policy', () => {
  const slow = policy({ backoff: 'FIXED', initial_delay_ms: 2 * hourMs, max_delay_ms: 24 * hourMs })
  assert.equal(retryDelayMs(slow, { attempt: 1, random: middle, retryAfterMs: 5 * hourMs }), 2 * hourMs)
})

const withoutAnswer: Record<Exclude<ErrorType, 'HTTP_ERROR'>, boolean> = {
  TIMEOUT: true,
  CONNECTION_REFUSED: true,
  CONNECTION_RESET: true,
  DNS_RESOLUTION_FAILED: true,
  TLS_ERROR: false,
  RESPONSE_TOO_LARGE: false,
  TARGET_FORBIDDEN: false,
  HANDLER_ERROR: true,
  EXIT_CODE: true,
  HEARTBEAT_TIMEOUT: true,
  WORKER_LOST: true,
  CANCELLED: false,
}

test('timeouts, connection errors and lost workers are retried; errors that would occur again are not', () => {
  for (const [type, retried] of Object.entries(withoutAnswer))
    assert.equal(isRetried(type as ErrorType, null), retried, type)
  assert.deepEqual([...Object.keys(withoutAnswer), 'HTTP_ERROR'].toSorted(), ERROR_TYPES.toSorted())
})

test('429 and 5xx are retried, 3xx and every other 4xx are not', () => {
  for (let status = 100; status < 600; status++) {
    assert.equal(isRetried('HTTP_ERROR', status), status === 429 || status >= 500, String(status))
  }
  assert.equal(isRetried('HTTP_ERROR', null), false, 'a request that could not be sent at all')
})
