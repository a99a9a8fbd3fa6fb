// Ends the executions of a deleted job. A job may have a hundred thousand of them: the delete ends the first ones and puts
// the others out of reach of workers, in one transaction; the release loop ends the others, a bounded number at a time.
import { jobDeletedMessage } from '../../domain/jobs/job-change.ts'
import type { SettledAttempt } from '../../domain/queue/attempt.ts'
import { batchExecutionsMax } from '../../domain/queue/execution.ts'
import { endedWithJobMax } from '../../domain/queue/trigger-batches.ts'
import { elementsOf } from '../connection/array-literal.ts'
import { withPartitions } from '../connection/daily-partitions.ts'
import type { Database, Queries } from '../connection/database.ts'
import { lockCursors } from '../scheduling/slots.sql.ts'
import * as statements from './cancel.sql.ts'
import { type CancelledRow, cancelBatchedOfJobs, cancelLiveById, settledOf, toCancelled } from './cancel.ts'

const batchesMax = endedWithJobMax / batchExecutionsMax

/** The caller has locked the job, which this transaction or an earlier one deleted. Returns the executions that ended. */
export async function cancelOfDeleted(
  queries: Queries,
  jobId: string,
  { running }: { running: boolean },
): Promise<SettledAttempt[]> {
  await queries.query(statements.leaveBatches, [jobId, batchesMax])
  const batched = await cancelBatchedOfJobs(queries, [{ jobId, message: jobDeletedMessage }], running)
  // In the order of ids, before some of them end and the others are held.
  await queries.query(statements.lockLive, [await findToEnd(queries, jobId, 'all'), [jobId]])
  // Found again: a finish that held the lock may have made a running execution ready or retrying.
  const values = [jobDeletedMessage, running, jobId, await findToEnd(queries, jobId, 'all')]
  const { rows } = await queries.query<CancelledRow>(statements.cancelLiveOfDeleted, values)
  await queries.query(statements.holdLive, [jobId])
  return settledOf([...batched, ...rows.map(toCancelled)])
}

/** Ends executions that deleted jobs left behind, a transaction for each job, until enough have ended. */
export async function endLeftBehind(
  database: Database,
  jobIds: readonly string[],
): Promise<SettledAttempt[]> {
  const settled: SettledAttempt[] = []
  for (const jobId of jobIds) {
    if (settled.length >= endedWithJobMax) break
    settled.push(...(await endSome(database, jobId)))
  }
  return settled
}

function endSome(database: Database, jobId: string): Promise<SettledAttempt[]> {
  return withPartitions(database, 'attempts', 'today', () =>
    database.transaction(async (queries) => {
      const { rows } = await queries.query<{ unlocked: string }>(lockCursors, [[jobId]])
      if (elementsOf(rows[0]!.unlocked).length > 0) return []
      const values = [jobDeletedMessage, false, jobId, batchesMax]
      const batched = await queries.query<CancelledRow>(statements.cancelLeftBatches, values)
      const live = await cancelLiveById(
        queries,
        await findToEnd(queries, jobId, 'waiting'),
        jobDeletedMessage,
      )
      return settledOf([...batched.rows.map(toCancelled), ...live])
    }),
  )
}

async function findToEnd(queries: Queries, jobId: string, which: 'all' | 'waiting'): Promise<string[]> {
  const values = [jobId, endedWithJobMax, which === 'waiting']
  const { rows } = await queries.query<{ execution_id: string }>(statements.selectToEnd, values)
  return rows.map((row) => row.execution_id)
}
