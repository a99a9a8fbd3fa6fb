// The execution of the same job before and after one. Asked for when somebody wants to go there, not before.
import type { ExecutionItem, ExecutionList } from '@carillon/contract/execution.ts'
import { api } from '../../api/client.ts'
import { dayMs, hourMs, minuteMs } from '../../lib/units.ts'
import { nearest, type Placed } from './neighbour-of.ts'

const pageMax = 200

/**
 * A list begins with the newest executions. Looking back, they are the nearest; looking forward, they are the farthest,
 * so the searched spans of time begin shorter.
 */
const stretchesMs = {
  older: [hourMs, dayMs, 400 * dayMs],
  newer: [minuteMs, 10 * minuteMs, hourMs, dayMs, 400 * dayMs],
}

export async function findNeighbour(
  jobId: string,
  here: Placed,
  side: 'older' | 'newer',
): Promise<string | null> {
  const at = Date.parse(here.scheduled_time)
  for (const stretchMs of stretchesMs[side]) {
    const [from, to] = side === 'older' ? [at - stretchMs, at] : [at, at + stretchMs]
    const query = { start_date: instantOf(from), end_date: instantOf(to), limit: pageMax }
    const reply = await api.get<ExecutionList>(`/jobs/${jobId}/executions`, { query })
    const items = reply.executions.filter((one): one is ExecutionItem => one.execution_id !== null)
    const found = nearest(items, here, side)
    if (found !== null) return found
  }
  return null
}

function instantOf(ms: number): string {
  return new Date(ms).toISOString()
}
