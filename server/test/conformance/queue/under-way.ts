// The ways an execution of a job can be under way, for suites that must hold in each of them.
import type { NewJob } from '../../../src/ports/jobs.ts'
import type { Scenario } from '../scenario.ts'

/** The ways an execution of a job can be under way; each leaves one of the job so. */
export const UNDER_WAY: readonly { how: string; begin: (s: Scenario, job: NewJob) => Promise<void> }[] = [
  {
    how: 'waits in its batch',
    async begin(s, job) {
      await s.fire(job, 0)
    },
  },
  {
    how: 'runs in its batch',
    async begin(s, job) {
      await s.fire(job, 0)
      await s.claimBatch(await s.addWorker())
    },
  },
  {
    how: 'has run so long that it left its batch',
    async begin(s, job) {
      await s.fire(job, 0)
      const workerId = await s.addWorker()
      await s.finishBatch(workerId, await s.claimBatch(workerId), s.running())
    },
  },
  {
    how: 'awaits the word of its target',
    async begin(s, job) {
      await s.fire(job, 0)
      const workerId = await s.addWorker()
      await s.finishBatch(workerId, await s.claimBatch(workerId), s.awaiting())
    },
  },
  {
    how: 'was handed back',
    async begin(s, job) {
      await s.fire(job, 0)
      const workerId = await s.addWorker()
      await s.finishBatch(workerId, await s.claimBatch(workerId), { kind: 'unstarted', host: null })
    },
  },
  {
    how: 'is between two attempts',
    async begin(s, job) {
      await s.fire(job, 0)
      const workerId = await s.addWorker()
      await s.finishBatch(workerId, await s.claimBatch(workerId), s.failedForNow())
    },
  },
  {
    how: 'was triggered',
    async begin(s, job) {
      await s.trigger(job)
    },
  },
]
