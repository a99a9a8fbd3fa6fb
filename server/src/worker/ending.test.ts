import assert from 'node:assert/strict'
import test from 'node:test'
import { makeLocalTask } from '../../test/local-task.ts'
import type { AttemptEnd } from '../domain/queue/attempt.ts'
import { epochMs } from '../lib/time/epoch.ts'
import { endingOf, endingUnstarted, runningOf } from './ending.ts'
import type { Prepared } from './prepare.ts'

const startedAt = epochMs(1_000)
const end = { outcome: 'succeeded' } as AttemptEnd

test('one that has ended says how; one that its target has taken, until when', () => {
  const deadline = epochMs(9_000)
  const taken = makeLocalTask({ startedAt, awaitingUntil: deadline }).task
  assert.deepEqual(endingOf(taken), { kind: 'awaiting', startedAt, deadline })
  const forced = makeLocalTask({ startedAt, end, awaitingUntil: deadline }).task
  assert.deepEqual(endingOf(forced), { kind: 'ended', end }, 'what was ended by force has ended')
})

test('one that was not started waits for its host, if it has one', () => {
  const { task } = makeLocalTask()
  const called = makeLocalTask({ prepared: { host: 'a.example' } as Prepared }).task
  assert.deepEqual(endingUnstarted(task), { kind: 'unstarted', host: null })
  assert.deepEqual(endingUnstarted(called), { kind: 'unstarted', host: 'a.example' })
  assert.deepEqual(endingOf(called), { kind: 'unstarted', host: null }, 'not for its host')
})

test('a suspect that was not started stays one', () => {
  const { task } = makeLocalTask({ isSuspect: true })
  assert.deepEqual(endingUnstarted(task), { kind: 'unstarted', host: 'suspect' })
  assert.deepEqual(endingOf(task), { kind: 'unstarted', host: 'suspect' })
})

test('upkeep looks after one that leaves its batch a minute after its time', () => {
  const { task } = makeLocalTask({ startedAt }, { timeout_seconds: 10 })
  assert.deepEqual(runningOf(task), { kind: 'running', startedAt, deadline: 71_000 })
})
