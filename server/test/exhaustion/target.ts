// Starts a callback target in a process of its own, and reads its figures on request.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

export type TargetPath =
  | '/victim'
  | '/victim-closes'
  | '/victim-slow'
  | '/victim-later'
  | '/counted'
  | '/fails'
  | '/stray'
  | '/token'
  | '/silent'
  | '/interim'
  | '/extension'

/** Of the victim's paths. */
export const genuineAnswer = 'genuine'

export interface Arrival {
  executionId: string
  attempt: number
  atMs: number
}

/** Since the report before. */
export interface TargetReport {
  /** Calls of the victim. */
  arrivals: Arrival[]
  calls: Partial<Record<TargetPath, number>>
  /** Answers of the API to reports of the victim's target, by status. */
  completions: Record<number, number>
  tokens: { url: string; token: string }[]
  /** Answers sent on connections that had asked for nothing. */
  forged: number
  hostileBytes: number
  /** Connections now whose call is not answered. */
  held: number
  /** Connections now that are sent bytes without end. */
  hostile: number
}

export interface Target extends AsyncDisposable {
  ports: readonly number[]
  /** At its first port. */
  url: (path: TargetPath) => string
  urls: (path: TargetPath) => string[]
  take: () => Promise<TargetReport>
}

/** `hosts`: its ports; each counts as a host of its own. */
export async function startTarget(hosts = 1): Promise<Target> {
  const child = fork(join(import.meta.dirname, 'target-process.ts'), [String(hosts)], {
    serialization: 'advanced',
  })
  const [ports] = (await once(child, 'message')) as [number[]]
  const urls = (path: TargetPath) => ports.map((port) => `http://127.0.0.1:${port}${path}`)
  return {
    ports,
    urls,
    url: (path) => urls(path)[0]!,
    async take() {
      const answer = once(child, 'message')
      child.send('take')
      return ((await answer) as [TargetReport])[0]
    },
    async [Symbol.asyncDispose]() {
      const exit = once(child, 'exit')
      child.disconnect()
      await exit
    },
  }
}
