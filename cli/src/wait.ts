// Waits that Ctrl-C ends at once.
import { setTimeout as sleep } from 'node:timers/promises'

export async function wait(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal })
}
