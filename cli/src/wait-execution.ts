// Waits until executions have ended, and says how.
import type { Execution } from '@carillon/contract/execution.ts'
import type { Client } from '@carillon/sdk'
import type { Context } from './context.ts'
import { Progress } from './progress.ts'
import { writeDuration } from './times.ts'
import { statusCell } from './tone.ts'
import { wait } from './wait.ts'

const ended: readonly string[] = ['SUCCEEDED', 'FAILED', 'TIMED_OUT', 'CANCELLED', 'SKIPPED']
const lookEveryMs = 300

export function hasEnded(status: string): boolean {
  return ended.includes(status)
}

export async function waitForExecutions(
  context: Context,
  client: Client,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<Execution[]> {
  const { out } = context
  const done = new Map<string, Execution>()
  using bar = new Progress(context, 'Wait')
  while (done.size < ids.length) {
    for (const id of ids.filter((one) => !done.has(one))) {
      const execution = await client.executions.get(id, { signal })
      const { progress, status } = execution
      const share = progress?.fraction == null ? '' : `${Math.round(progress.fraction * 100)} %`
      bar.show(done.size, ids.length, `${status.toLowerCase()} ${share} ${progress?.message ?? ''}`.trim())
      if (hasEnded(status)) done.set(id, execution)
    }
    if (done.size < ids.length) await wait(lookEveryMs, signal)
  }
  bar[Symbol.dispose]()
  const found = ids.map((id) => done.get(id)!)
  for (const { execution_id: id, status, duration_ms: ms, error } of found) {
    const took = ms === null ? '' : ` in ${writeDuration(ms)}`
    const { text, tone } = statusCell(status)
    if (!out.json)
      out.say(`${text}${took}  ${id}${error === null ? '' : `  ${error.type}: ${error.message}`}`, tone)
  }
  return found
}
