// Starts the low-cost receiver, and reads its received calls on request only: not while it is being called.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

/** Parallel lists, one place for each call. */
export interface TakenCalls {
  /** Calls to `/counted…`, which are in none of the lists. */
  counted: number
  /** On the clock that the database has too. */
  atMs: number[]
  /** On the clock that all processes of the machine share, and that nobody sets. */
  monotonicMs: number[]
  slotMs: number[]
  executionIds: string[]
}

export interface TimedTarget extends AsyncDisposable {
  url: string
  pid: number
  /** Calls received since the last `take`. */
  take(): Promise<TakenCalls>
}

export async function startTimedTarget(): Promise<TimedTarget> {
  const child = fork(join(import.meta.dirname, 'timed-receiver.ts'), { serialization: 'advanced' })
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  return {
    url: `http://127.0.0.1:${port}`,
    pid: child.pid!,
    async take() {
      const answer = once(child, 'message')
      child.send('take')
      return ((await answer) as [TakenCalls])[0]
    },
    async [Symbol.asyncDispose]() {
      const exit = once(child, 'exit')
      child.disconnect()
      await exit
    },
  }
}

/** The same clock as `monotonicMs` in the receiver. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

export interface Lateness {
  p50: number
  p99: number
  max: number
}

/** Of the values in ms; NaN where there are none. */
export function latenessOf(values: readonly number[]): Lateness {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN
  return { p50: at(0.5), p99: at(0.99), max: at(1) }
}

/** How late the first call of each execution came, of slots in [fromMs, toMs), and how many calls came once more. */
export function firstCalls(
  { atMs, slotMs, executionIds }: TakenCalls,
  { fromMs, toMs }: { fromMs: number; toMs: number },
): { lateMs: Map<string, number>; twice: number } {
  const first = new Map<string, number>()
  let twice = 0
  for (const [index, id] of executionIds.entries()) {
    if (!(slotMs[index]! >= fromMs && slotMs[index]! < toMs)) continue
    // Calls are in the order in which they came.
    if (first.has(id)) twice += 1
    else first.set(id, atMs[index]! - slotMs[index]!)
  }
  return { lateMs: first, twice }
}
