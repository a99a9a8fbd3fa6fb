// Retries become claimable again when their time has come, ranked as new.
import type { Clock } from '../ports/clock.ts'
import type { Maintenance } from '../ports/maintenance.ts'

export interface WakeDeps {
  clock: Pick<Clock, 'databaseNow'>
  maintenance: Pick<Maintenance, 'wake' | 'nextWakeAt'>
  /** Called after a commit that made something claimable. */
  onReady: () => void
}

const wakeMax = 1_000
/** The floor: a retry planned by another process is seen after at most this. */
export const wakeEveryMs = 1_000

export async function wakeReady({
  clock,
  maintenance,
  onReady,
}: WakeDeps): Promise<'more' | 'idle' | number> {
  const next = await maintenance.nextWakeAt()
  if (next === null) return 'idle'
  const waitMs = next - clock.databaseNow()
  if (waitMs > 0) return waitMs
  const woken = await maintenance.wake(wakeMax)
  if (woken > 0) onReady()
  // The database's clock may be a moment behind our estimate of it.
  return woken === 0 ? 2 : 'more'
}
