// The low-cost receiver, with a record of the received calls one by one.
import { startTimedTarget } from './timed-target.ts'

export interface Arrival {
  atMs: number
  slotMs: number
  executionId: string
}

export interface Target extends AsyncDisposable {
  url: string
  pid: number
  /** Calls received since the last `take`. */
  take(): Promise<Arrival[]>
}

export async function startTarget(): Promise<Target> {
  const target = await startTimedTarget()
  return {
    url: target.url,
    pid: target.pid,
    async take() {
      const { atMs, slotMs, executionIds } = await target.take()
      return executionIds.map((executionId, n) => ({ atMs: atMs[n]!, slotMs: slotMs[n]!, executionId }))
    },
    [Symbol.asyncDispose]: () => target[Symbol.asyncDispose](),
  }
}

export function percentile(sorted: readonly number[], share: number): number {
  return sorted.length === 0
    ? Number.NaN
    : sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!
}
