// Ends executions that do not run yet.
import { batchIdOf } from '../domain/execution.ts'
import * as statements from './cancel-pending.sql.ts'
import type { Queries } from './database.ts'

/** All of a job. From batches first: what leaves one goes to `live`, never the other way. */
export async function cancelPending(queries: Queries, jobId: string, message: string): Promise<void> {
  await queries.query(statements.cancelBatched, [jobId, null, null, message])
  await queries.query(statements.cancelLive, [jobId, null, message])
}

/** One; whether it was there and did not run. */
export async function cancelOne(
  queries: Queries,
  { jobId, executionId, message }: { jobId: string; executionId: string; message: string },
): Promise<boolean> {
  const values = [jobId, executionId, batchIdOf(executionId), message]
  const batched = await queries.query(statements.cancelBatched, values)
  if (batched.count === 1) return true
  const live = await queries.query(statements.cancelLive, [jobId, executionId, message])
  return live.count === 1
}
