// Broken evidence about executions, their calls, and the API answers about them.
import assert from 'node:assert/strict'
import { addExecution, addSeen, JOBS, runId, second, start } from './check-scene.ts'
import { type Broken, cut, keyOfExecution, ofSlot, own, remove } from './check-spoil.ts'

export const BROKEN_EXECUTIONS: readonly Broken[] = [
  {
    what: 'two ends of one execution',
    invariant: 'I11',
    spoil: (scene) => {
      ofSlot(scene, JOBS.cron, 2)[0]!.final = true
    },
  },
  {
    what: 'an execution that nobody cancelled',
    invariant: 'I11',
    spoil: (scene) => {
      const row = ofSlot(scene, JOBS.cron, 1)[0]!
      Object.assign(row, { outcome: 'cancelled', message: 'by nobody' })
    },
  },
  {
    what: 'a gap in the numbers of attempts',
    invariant: 'I12',
    spoil: (scene) => {
      const row = ofSlot(scene, JOBS.cron, 3)[1]!
      row.attempt = 3
      for (const line of scene.receiver)
        if (line.what === 'arrived' && line.call.executionId === row.executionId && line.call.attempt === 2)
          line.call.attempt = 3
    },
  },
  {
    what: 'an attempt that begins before the one before it is over',
    invariant: 'I12',
    spoil: (scene) => {
      ofSlot(scene, JOBS.cron, 3)[1]!.startedAt! -= 5_000
    },
  },
  {
    what: 'more attempts than the policy allows',
    invariant: 'I12',
    spoil: (scene) => {
      scene.versions[0]!.retries = { ...scene.versions[0]!.retries, max_retries: 0 }
    },
  },
  {
    what: 'a success that its target never gave',
    invariant: 'I13',
    spoil: ({ receiver }) => {
      const line = receiver[1]!
      assert(line.what === 'answered')
      line.status = 500
    },
  },
  {
    what: 'an execution that is lost',
    invariant: 'I14',
    spoil: (scene) => {
      const row = remove(scene.attempts, ({ jobId, slot }) => jobId === JOBS.cron && slot === start + second)
      scene.live.push({
        executionId: row.executionId,
        jobId: row.jobId,
        kind: 'slot',
        state: 'running',
        attempt: 1,
        workerId: 'worker-x',
        mark: null,
        retryOf: null,
      })
    },
  },
  {
    what: 'a reclaim that took too long',
    invariant: 'I14',
    spoil: (scene) => {
      for (const row of ofSlot(scene, JOBS.cron, 3).slice(1))
        for (const name of ['startedAt', 'finishedAt', 'recordedAt'] as const) row[name]! += 6_000
    },
  },
  {
    what: 'slots that are still owed',
    invariant: 'I14',
    spoil: ({ owed }) => void owed.push({ jobId: JOBS.cron, from: start, to: start }),
  },
  {
    what: 'a success that was never called',
    invariant: 'I15',
    spoil: (scene) => cut(scene, own(scene, JOBS.root)[0]!.executionId),
  },
  {
    what: 'a call with another key',
    invariant: 'I15',
    spoil: ({ receiver }) => {
      const line = receiver[0]!
      assert(line.what === 'arrived')
      line.call.key = 'another'
    },
  },
  {
    what: 'an attempt that is called twice for no reason',
    invariant: 'I15',
    spoil: (scene) => {
      const line = scene.receiver.findLast((one) => one.what === 'arrived')!
      assert(line.what === 'arrived')
      scene.receiver.push({ ...line, seq: 999, at: line.at + 50 })
    },
  },
  {
    what: 'a cancelled execution that succeeds all the same',
    invariant: 'I16',
    spoil: (scene) => {
      const row = scene.attempts.find(({ mark }) => mark === 'cancelled')!
      const ran = {
        outcome: 'succeeded',
        startedAt: row.slot + 50,
        workerId: 'worker-b',
        attempt: 1,
        httpStatus: 200,
        finishedAt: row.slot + 60,
      } as const
      Object.assign(row, ran)
      const key = ''
      addSeen(scene, { ...row, key }, row.slot + 50, 200)
      const line = scene.receiver.at(-2)!
      assert(line.what === 'arrived')
      line.call.key = keyOfExecution(row.jobId, row.executionId)
    },
  },
  {
    what: 'a retry that comes too soon',
    invariant: 'I17',
    spoil: (scene) => {
      const id = ofSlot(scene, JOBS.cron, 2)[0]!.executionId
      for (const line of scene.receiver)
        if (line.what === 'arrived' && line.call.executionId === id && line.call.attempt === 2) line.at -= 800
    },
  },
  {
    what: 'a retry of what is not to be retried',
    invariant: 'I17',
    spoil: (scene) => {
      ofSlot(scene, JOBS.cron, 2)[0]!.httpStatus = 404
      for (const line of scene.receiver)
        if (line.what === 'answered' && line.status === 503) line.status = 404
    },
  },
  {
    what: 'a dead letter that is gone',
    invariant: 'I18',
    spoil: ({ deadLetters }) => void deadLetters.pop(),
  },
  {
    what: 'a dead letter of a success',
    invariant: 'I18',
    spoil: ({ deadLetters, attempts }) =>
      void deadLetters.push({
        executionId: attempts[0]!.executionId,
        jobId: JOBS.cron,
        reason: 'NOT_RETRYABLE',
        attempts: 1,
      }),
  },
  {
    what: 'a node that runs before what it runs after',
    invariant: 'I19',
    spoil: (scene) => {
      own(scene, JOBS.root)[0]!.recordedAt += 2 * second
    },
  },
  {
    what: 'a node that is let go twice',
    invariant: 'I19',
    spoil: (scene) =>
      void addExecution(scene, 'child', { at: 31, kind: 'dependency', runId, attempts: [{}] }),
  },
  {
    what: 'a run that is not as its nodes are',
    invariant: 'I19',
    spoil: ({ graphRuns }) => {
      graphRuns[0]!.status = 'FAILED'
    },
  },
  {
    what: 'two at once under a key for one',
    invariant: 'I20',
    spoil: (scene) => {
      const row = scene.attempts.find(({ mark }) => mark === 'taken')!
      Object.assign(row, { finishedAt: row.startedAt! + 3_000, recordedAt: row.startedAt! + 3_000 })
      addExecution(scene, 'narrow', { at: 41, kind: 'trigger', mark: 'unknown', attempts: [{ took: 100 }] })
    },
  },
  {
    what: 'a key with two effects',
    invariant: 'I21',
    spoil: (scene) =>
      void addExecution(scene, 'root', { at: 60, kind: 'trigger', mark: 'taken', attempts: [{}] }),
  },
  {
    what: 'a key that was taken for another request',
    invariant: 'I21',
    spoil: (scene) => {
      const sent = scene.history.find((line) => line.what === 'sent' && line.call.key === 'refused')!
      assert(sent.what === 'sent')
      sent.call.name = 'other body'
      for (const line of scene.history)
        if (line.what === 'answered' && line.op === sent.op) line.ending = 'ok'
    },
  },
  {
    what: 'a trigger that was acknowledged and is not there',
    invariant: 'I22',
    spoil: (scene) => {
      const row = remove(scene.attempts, ({ mark }) => mark === 'taken')
      cut(scene, row.executionId)
    },
  },
  {
    what: 'a trigger that was refused and is there',
    invariant: 'I22',
    spoil: (scene) => {
      addExecution(scene, 'root', { at: 60, kind: 'trigger', mark: 'refused', attempts: [{}] })
      const sent = scene.history.find((line) => line.what === 'sent' && line.call.key === 'unknown')!
      assert(sent.what === 'sent')
      // The same mark with another key: it may have been the one that was taken.
      sent.call.body = { payload_override: { mark: 'refused' } }
    },
  },
  {
    what: 'a change that nobody made',
    invariant: 'I22',
    spoil: ({ jobs }) => void Object.assign(jobs[5]!, { version: 3, updatedAt: start + second }),
  },
  {
    what: 'an execution in two places',
    invariant: 'I25',
    spoil: (scene) => {
      const { executionId, jobId } = scene.attempts[0]!
      scene.batched.push({ executionId, jobId, workerId: null })
    },
  },
  {
    what: 'a time that runs backwards',
    invariant: 'I26',
    spoil: (scene) => {
      scene.attempts[0]!.finishedAt! -= 500
    },
  },
]
