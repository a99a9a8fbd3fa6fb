// What keeps the whole going when a part is lost. Every scheduler runs it; none leads.
import type { Beat } from '../domain/lease-watch.ts'

export interface Upkeep {
  /** The counters of all leases, at most `workersMax`. */
  watch(): Promise<Beat[]>
  /** Ends the lease if its counter is still the one that was seen: a worker that beat meanwhile lives on. */
  reclaim(lease: Beat): Promise<'reclaimed' | 'alive'>
}
