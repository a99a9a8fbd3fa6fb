// Results that came too late, from workers and targets outside our own workers: recorded as refused, as an event and in
// the log of the execution. That never changes the answer, and each claim has one line, however often the result is
// repeated.
import { lineOfRefused } from '../../domain/history/log.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Logs } from '../../ports/logs.ts'
import { attemptRefused } from '../../telemetry/events.ts'

export interface RefusedDeps {
  clock: Pick<Clock, 'databaseNow'>
  logs: Pick<Logs, 'append'>
}

/** Only of attempts that were this worker's, or this token's: nobody writes into the logs of others. */
export interface RejectedResult {
  tenantId: string
  executionId: string
  attempt: number
  fence: number
  /** Null: the holder of the token. */
  workerId: string | null
  status: 'succeeded' | 'failed'
  /** The attempt has a result on record with the same status, and this is another one. */
  differs: boolean
}

export async function noteRefused(
  { clock, logs }: RefusedDeps,
  late: readonly RejectedResult[],
): Promise<void> {
  if (late.length === 0) return
  const at = clock.databaseNow()
  const parts = late.map(({ tenantId, executionId, attempt, fence, workerId, status, differs }) => {
    attemptRefused.emit({ executionId, attempt, workerId: workerId ?? 'token' })
    const line = lineOfRefused({ attempt, fence, workerId, said: status.toUpperCase(), differs }, at)
    return { tenantId, executionId, attempt, ...line }
  })
  await logs.append(parts).catch(() => {})
}
