// The limits that some seeds give to tenants of the workload: executions a minute, waiting executions, running ones. The
// first tenants have them and the last has none, so that limited tenants always have one without a limit beside them.
import type { Random } from '../../src/ports/random.ts'
import { unlimitedTier } from '../../testing/memory-store/first-tiers.ts'
import type { Simulation } from './world.ts'

export interface DrawnLimits {
  executionsPerMinute: number | null
  waitingExecutionsMax: number | null
  concurrentExecutionsMax: number | null
}

const limitedShare = 0.3
const rates = [4, 12, 25, 40, null] as const
const waiting = [null, null, 4, 15] as const
const running = [null, null, 2, 8] as const

/** Of the first tenants. The stream is one of its own: without it a seed keeps its course. */
export function drawTenantLimits(random: Random): readonly DrawnLimits[] {
  if (random.next() > limitedShare) return []
  return Array.from({ length: random.next() < 0.5 ? 1 : 2 }, () => ({
    executionsPerMinute: pick(random, rates),
    waitingExecutionsMax: pick(random, waiting),
    concurrentExecutionsMax: pick(random, running),
  }))
}

export function limitTenants(
  { tables }: Pick<Simulation, 'tables'>,
  tenantIds: readonly string[],
  limits: readonly DrawnLimits[],
): void {
  for (const [index, own] of limits.entries()) {
    const tenantId = tenantIds[index]!
    const tier = `limited ${index}`
    void tables.tiers.put({ ...unlimitedTier, tier, ...own })
    void tables.tenants.create({ tenantId, name: tenantId, tier })
  }
}

function pick<T>(random: Random, values: readonly T[]): T {
  return values[Math.floor(random.next() * values.length)]!
}
