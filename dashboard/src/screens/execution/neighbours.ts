// The execution of the same job before and after one. Asked for when somebody wants to go there, not before.
import type { ExecutionItem, ExecutionList } from '@carillon/contract/execution.ts'
import { api } from '../../api/client.ts'
import { nearest } from './neighbour-of.ts'

const pageMax = 200
const hourMs = 3_600_000

interface Here {
  jobId: string
  executionId: string
  scheduledTime: string
}

export async function findNeighbour(here: Here, side: 'older' | 'newer'): Promise<string | null> {
  if (side === 'older')
    return nearest(await list(here, { end_date: here.scheduledTime, limit: 50 }), here, side)
  // Lists begin with the newest, so the next one is looked for in a short stretch of time first.
  const older = await list(here, { end_date: here.scheduledTime, limit: 2 })
  const at = Date.parse(here.scheduledTime)
  const gapMs = Math.max(60_000, at - Date.parse(older.at(-1)?.scheduled_time ?? '') || hourMs)
  for (const factor of [8, 200]) {
    const end = new Date(at + factor * gapMs).toISOString()
    const found = await list(here, { start_date: here.scheduledTime, end_date: end, limit: pageMax })
    const next = nearest(found, here, side)
    if (next !== null) return next
  }
  return nearest(await list(here, { start_date: here.scheduledTime, limit: pageMax }), here, side)
}

async function list(here: Here, query: Record<string, string | number>): Promise<ExecutionItem[]> {
  const reply = await api.get<ExecutionList>(`/jobs/${here.jobId}/executions`, { query })
  return reply.executions.filter((one): one is ExecutionItem => one.execution_id !== null)
}
