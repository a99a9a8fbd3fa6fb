import assert from 'node:assert/strict'
import test from 'node:test'
import { hourMs } from '../lib/time/units.ts'
import type { Past } from './job-kit.ts'
import { demoJobs } from './jobs.ts'
import { type PastJob, playSlot } from './past.ts'
import { drawsOf } from './random.ts'

const now = 1_800_000_000_000
const retryPolicy = {
  max_retries: 5,
  backoff: 'EXPONENTIAL',
  initial_delay_ms: 500,
  max_delay_ms: 60_000,
} as const

function play(past: Past, count: number, seed = 1) {
  const job: PastJob = { jobId: 'j', tenantId: 't', version: 1, name: 'a', past, retryPolicy }
  const draw = drawsOf(seed, 'a')
  return Array.from({ length: count }, (_, i) => {
    const slot = now - (i + 1) * 60_000
    return playSlot(draw, job, { slot, kind: 'slot', readyAt: slot, runId: null }, now)
  })
}

test('there are forty jobs with keys of their own, and each comes after the jobs it runs after', () => {
  const jobs = demoJobs({ url: 'http://127.0.0.1', shellCommands: [], soon: '2030-01-01T00:00:00Z' })
  const keys = jobs.map(({ key }) => key)
  assert.equal(new Set(keys).size, 40)
  for (const [place, { after = [] }] of jobs.entries())
    for (const parent of after) assert(keys.indexOf(parent) < place, `${parent} comes too late`)
})

test('the same seed tells the same past, another one another', () => {
  const past: Past = { days: 30, middleMs: 500 }
  assert.deepEqual(play(past, 20), play(past, 20))
  assert.notDeepEqual(play(past, 20), play(past, 20, 2))
})

test('a flaky job needs a second attempt about as often as it should, and gets there', () => {
  const error = { type: 'HANDLER_ERROR', message: 'after # rows' } as const
  const played = play({ days: 30, middleMs: 500, failing: 0.3, error }, 4_000)
  const retried = played.filter(({ attempts }) => attempts.length > 1).length / played.length
  assert(retried > 0.25 && retried < 0.35, `${retried} were retried`)
  for (const { attempts } of played) {
    assert.deepEqual(
      attempts.map(({ final }) => final),
      attempts.map((_, i) => i === attempts.length - 1),
    )
    for (const [i, one] of attempts.entries()) {
      assert(one.startedAt <= one.finishedAt && one.finishedAt < now)
      if (i > 0 && one.startedAt < now - 1) assert(one.startedAt > attempts[i - 1]!.finishedAt)
    }
  }
})

test('a broken job makes dead letters from the time it broke, with all its attempts', () => {
  const error = { type: 'HTTP_ERROR', status: 503, message: 'Callback returned 503' } as const
  const played = play({ days: 30, middleMs: 500, brokenHours: 1, error }, 120)
  for (const { attempts, letter } of played) {
    const isBroken = attempts[0]!.slot > now - hourMs
    assert.equal(letter !== null, isBroken)
    assert.equal(attempts.at(-1)!.deadLetter, isBroken)
    if (letter !== null) assert.equal(letter.errors.length, attempts.length)
  }
  const final = { type: 'HTTP_ERROR', status: 422, message: 'no' } as const
  const [refused] = play({ days: 30, middleMs: 500, brokenHours: 1, error: final }, 1)
  assert.deepEqual([refused!.attempts.length, refused!.letter!.reason], [1, 'NOT_RETRYABLE'])
})
