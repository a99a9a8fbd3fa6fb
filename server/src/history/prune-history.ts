// Deletes numbers and logs that are older than any history reaches, in bounded steps.
import { historyDaysMax } from '../domain/tenants/tenant.ts'
import type { Logs } from '../ports/logs.ts'
import type { Rollups } from '../ports/rollups.ts'

export const pruneHistoryEveryMs = 60_000

/** Rows at once; one may be 256 KB. */
const logsMax = 1_000

export interface PruneHistoryDeps {
  rollups: Pick<Rollups, 'prune'>
  logs: Pick<Logs, 'prune'>
}

export async function pruneHistory({ rollups, logs }: PruneHistoryDeps): Promise<'more' | 'idle'> {
  const numbers = await rollups.prune()
  const pruned = await logs.prune(historyDaysMax, logsMax)
  return numbers === 'more' || pruned === logsMax ? 'more' : 'idle'
}
