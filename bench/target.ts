// Starts the receiver and reads what came in.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

export interface Arrival {
  atMs: number
  slotMs: number
  executionId: string
}

export interface Target extends AsyncDisposable {
  url: string
  pid: number
  /** What came since the last time. */
  take(): Promise<Arrival[]>
}

export async function startTarget(): Promise<Target> {
  const child = fork(join(import.meta.dirname, 'receiver.ts'))
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  const url = `http://127.0.0.1:${port}`
  return {
    url,
    pid: child.pid!,
    take: async () => (await (await fetch(url)).json()) as Arrival[],
    async [Symbol.asyncDispose]() {
      const exit = once(child, 'exit')
      child.disconnect()
      await exit
    },
  }
}

export function percentile(sorted: readonly number[], share: number): number {
  return sorted.length === 0
    ? Number.NaN
    : sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!
}
