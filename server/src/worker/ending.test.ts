import assert from 'node:assert/strict'
import test from 'node:test'
import { makeLocalExecution } from '../../test/local-execution.ts'
import type { AttemptEnd } from '../domain/queue/attempt.ts'
import { epochMs } from '../lib/time/epoch.ts'
import { endingOf, endingUnstarted, runningOf } from './ending.ts'
import type { Prepared } from './prepare.ts'

const startedAt = epochMs(1_000)
const end = { outcome: 'succeeded' } as AttemptEnd

test('an ended execution reports its end, and an awaited one its deadline', () => {
  const deadline = epochMs(9_000)
  const accepted = makeLocalExecution({ startedAt, awaitingUntil: deadline }).held
  assert.deepEqual(endingOf(accepted), { kind: 'awaiting', startedAt, deadline })
  const forced = makeLocalExecution({ startedAt, end, awaitingUntil: deadline }).held
  assert.deepEqual(endingOf(forced), { kind: 'ended', end }, 'an execution that was ended by force has ended')
})

test('an execution that was not started waits for its host, if it has one', () => {
  const { held } = makeLocalExecution()
  const called = makeLocalExecution({ prepared: { host: 'a.example' } as Prepared }).held
  assert.deepEqual(endingUnstarted(held), { kind: 'unstarted', host: null })
  assert.deepEqual(endingUnstarted(called), { kind: 'unstarted', host: 'a.example' })
  assert.deepEqual(endingOf(called), { kind: 'unstarted', host: null }, 'not for its host')
})

test('a suspect that was not started stays a suspect', () => {
  const { held } = makeLocalExecution({ isSuspect: true })
  assert.deepEqual(endingUnstarted(held), { kind: 'unstarted', host: 'suspect' })
  assert.deepEqual(endingOf(held), { kind: 'unstarted', host: 'suspect' })
})

test('the deadline of an execution that leaves its batch is a minute after its time', () => {
  const { held } = makeLocalExecution({ startedAt }, { timeout_seconds: 10 })
  assert.deepEqual(runningOf(held), { kind: 'running', startedAt, deadline: 71_000 })
})
