// Broken evidence about slots and about the schedulers that fire them.
import { addExecution, addSeen, JOBS, second, start } from './check-scene.ts'
import { type Broken, ofSlot, remove } from './check-spoil.ts'

export const BROKEN_SLOTS: readonly Broken[] = [
  {
    what: 'a slot without a record',
    invariant: 'I1',
    spoil: ({ skips }) => remove(skips, ({ jobId }) => jobId === JOBS.cron),
  },
  {
    what: 'a skip that counts more slots than there are',
    invariant: 'I1',
    spoil: ({ skips }) => {
      skips[0]!.count = 2
    },
  },
  {
    what: 'a skip for overlap with nothing',
    invariant: 'I1',
    spoil: (scene) => {
      for (const row of ofSlot(scene, JOBS.every, 2))
        Object.assign(row, { finishedAt: row.startedAt! + 5, recordedAt: row.startedAt! + 6 })
    },
  },
  {
    what: 'an execution of what is no slot',
    invariant: 'I2',
    spoil: (scene) => void addExecution(scene, 'cron', { slot: 1.5, attempts: [{}] }),
  },
  {
    what: 'a call of an execution that nobody knows',
    invariant: 'I2',
    spoil: (scene) =>
      addSeen(scene, { jobId: JOBS.cron, executionId: 'x', attempt: 1, key: '', slot: start }, start, 200),
  },
  {
    what: 'a trigger that nobody asked for',
    invariant: 'I2',
    spoil: (scene) =>
      void addExecution(scene, 'root', { at: 60, kind: 'trigger', mark: 'nobody', attempts: [{}] }),
  },
  {
    what: 'a second execution of a slot',
    invariant: 'I3',
    spoil: (scene) => {
      addExecution(scene, 'cron', { slot: 1, attempts: [{ after: 30 }] })
      scene.slots.pop()
    },
  },
  {
    what: 'a misfire for no reason',
    invariant: 'I4',
    spoil: ({ skips, slots, faults }) => {
      faults.shift()
      const skip = skips[0]!
      Object.assign(skip, { reason: 'misfire' })
      slots.push({ jobId: skip.jobId, slot: skip.from, executionId: '', reason: 'misfire' })
    },
  },
  {
    what: 'a missed slot that runs though the policy is to skip it',
    invariant: 'I4',
    spoil: (scene) => {
      scene.versions[0]!.misfire = 'SKIP'
      for (const row of ofSlot(scene, JOBS.cron, 1))
        for (const name of ['enqueuedAt', 'startedAt', 'finishedAt', 'recordedAt'] as const)
          row[name]! += 90_000
      for (const state of scene.history)
        if (state.what === 'answered' && (state.answer as { status?: string }).status === 'PAUSED')
          Object.assign(state.answer as object, { updated_at: new Date(start + 95_000).toISOString() })
      scene.jobs[0]!.updatedAt = start + 95_000
      for (const line of scene.receiver) if (line.seq === 1) line.at += 90_000
      scene.skips[0]!.to = start + 95 * second
      scene.skips[0]!.count = 92
    },
  },
  {
    what: 'a call before its slot',
    invariant: 'I5',
    spoil: ({ receiver }) => {
      receiver[0]!.at = start + 999
    },
  },
  {
    what: 'a fire after the job was paused',
    invariant: 'I7',
    spoil: (scene) => {
      remove(scene.skips, ({ jobId }) => jobId === JOBS.cron)
      addExecution(scene, 'cron', { slot: 4, attempts: [{ after: 900 }] })
      scene.attempts.at(-1)!.enqueuedAt = start + 4 * second + 600
    },
  },
  {
    what: 'a fire as a version that is not in force',
    invariant: 'I7',
    spoil: (scene) => {
      scene.versions.push({ ...scene.versions[0]!, version: 2 })
      for (const row of ofSlot(scene, JOBS.cron, 1)) row.version = 2
    },
  },
  {
    what: 'a partition held by somebody who is none',
    invariant: 'I8',
    spoil: (scene) => scene.partitions.fill('scheduler-x', 0, 2),
  },
  {
    what: 'a failover that took too long',
    invariant: 'I10',
    spoil: ({ watch }) => {
      watch.at(-1)!.at += 4 * second
    },
  },
  {
    what: 'a partition that nobody holds when all is well',
    invariant: 'I10',
    spoil: (scene) => {
      scene.partitions[5] = null
    },
  },
]
