// Jitter spreads jobs that are due at one instant. The same job and slot always wait equally long, so a failover
// neither repeats nor reorders anything.
import type { EpochMs } from '../../lib/time/epoch.ts'
import { hash32 } from './hash.ts'

export const jitterSecondsMax = 86_400

/** When a slot fires. */
export function dueAtOf(job: { jobId: string; jitterSeconds: number }, slot: EpochMs): EpochMs {
  return (slot + jitterMs(job.jobId, slot, job.jitterSeconds)) as EpochMs
}

/** Milliseconds to wait after a slot: 0 up to, not including, `jitterSeconds` seconds. */
export function jitterMs(jobId: string, slot: EpochMs, jitterSeconds: number): number {
  if (jitterSeconds <= 0) return 0
  const second = Math.floor(slot / 1000)
  const spread = hash32(jobId, second, Math.floor(second / 2 ** 32))
  return Math.floor((spread / 2 ** 32) * jitterSeconds * 1000)
}
