// What people asked for that takes its time, what comes due by itself, and what is to be forgotten. Every scheduler
// runs these; whoever comes first does the work.

import { operationDaysKept } from '../domain/jobs/operation.ts'
import { LaneChooser } from '../domain/queue/lane.ts'
import { redriveDue, redriveDueEveryMs } from '../maintenance/redrive-due.ts'
import { resumePaused, resumePausedEveryMs } from '../maintenance/resume-paused.ts'
import { runOperation, runOperationsEveryMs } from '../maintenance/run-operations.ts'
import { PostgresRunSteps } from '../postgres/graphs/run-steps.ts'
import { PostgresOperations } from '../postgres/jobs/operations.ts'
import { PostgresRequests, storesOn } from '../postgres/jobs/requests.ts'
import type { RoleDeps } from './scheduler.ts'

const pruneEveryMs = 60_000
const prunedMax = 5_000

export function startBackgroundWork({ world, database, wakeup, startLoop }: RoleDeps): void {
  const { jobs, deadLetters } = storesOn(database)
  const operations = new PostgresOperations(database)
  const requests = new PostgresRequests(database)
  const runSteps = new PostgresRunSteps(database)
  const lanes = new LaneChooser()
  const onChanged = () => wakeup.send('changes')
  const onReady = () => {
    wakeup.send('queue')
    wakeup.send('waiting')
  }
  const onCancelled = () => {
    wakeup.send('cancels')
    wakeup.send('waiting')
  }
  const run = startLoop('run operations', runOperationsEveryMs, () =>
    runOperation({ ...world, operations, lanes, onChanged, onReady, onCancelled }),
  )
  wakeup.on('operations', () => run.wake())
  startLoop('resume paused jobs', resumePausedEveryMs, () => resumePaused({ jobs, onChanged }))
  startLoop('redrive dead letters', redriveDueEveryMs, () =>
    redriveDue({ ...world, deadLetters, lanes, onReady }),
  )
  startLoop('prune the old', pruneEveryMs, async () => {
    const answers = await requests.prune(prunedMax)
    const ended = await operations.prune(operationDaysKept, prunedMax)
    const runs = await runSteps.prune(prunedMax)
    return [answers, ended, runs].includes(prunedMax) ? 'more' : 'idle'
  })
}
