// Herds of tenants with a limit on executions a minute, and the starts of their executions as their targets saw them.
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { TenantCensus } from '../../src/api/access/tenant-census.ts'
import { RequestShares } from '../../src/api/http/request-shares.ts'
import { planJob } from '../../src/api/jobs/plan-new-job.ts'
import { epochMs, toRfc3339 } from '../../src/lib/time/epoch.ts'
import { unlimitedTier } from '../../testing/memory-store/first-tiers.ts'
import { setupApp } from '../app.ts'
import { type FaultRates, noFaults } from './faults.ts'
import { Simulation, type SimulationOptions } from './world.ts'

const startAt = Date.UTC(2026, 0, 1)
export const dueMs = 5_000
export const minuteMs = 60_000

export function setup(rates: FaultRates = noFaults, options: Partial<SimulationOptions> = {}) {
  const sim = new Simulation({ seed: 1, servers: 3, startAt, rates, ...options })
  const ids = sim.idsOf('budgets')
  const hosts = 64
  for (let n = 0; n < hosts; n++)
    sim.world.http.answer(`https://host-${n}.example`, () => ({ status: 200, afterMs: 20 }))
  async function addTenant(tier: string): Promise<string> {
    const tenantId = ids.next()
    await sim.tables.tenants.create({ tenantId, name: tenantId, tier })
    return tenantId
  }
  /** Jobs that are all due at one instant, once. */
  async function addHerd(
    tenantId: string,
    count: number,
    windowSeconds = 3_600,
    atMs = dueMs,
  ): Promise<void> {
    const now = sim.world.clock.databaseNow()
    for (let n = 0; n < count; n++) {
      const request = {
        name: `${n}`,
        schedule: { type: 'ONE_TIME', scheduled_time: toRfc3339(epochMs(startAt + atMs)) } as const,
        execution: { callback_url: `https://host-${n % hosts}.example/${n}` },
        misfire_window_seconds: windowSeconds,
      }
      const enqueue = () => ({ executionId: ids.nextBatch(), lane: 'shared' })
      const context = { jobId: ids.next(), tenantId, tier: unlimitedTier, by: 'tester', now, enqueue }
      assert.equal(await sim.tables.jobs.create(planJob(request, context)), 'created')
    }
  }
  const tenantOf = (jobId: string) => sim.tables.store.jobs.get(jobId)!.tenantId
  /** When each execution of a tenant was called first, in ms after the herd was due. */
  function startsOf(tenantId: string): number[] {
    const first = new Map<string, number>()
    for (const { at, request } of sim.world.http.sent) {
      const id = request.headers['x-execution-id']!
      if (tenantOf(request.headers['x-job-id']!) === tenantId && !first.has(id)) first.set(id, at - dueMs)
    }
    return [...first.values()].toSorted((a, b) => a - b)
  }
  function outcomesOf(tenantId: string): Record<string, number> {
    const counts: Record<string, number> = {}
    for (const job of sim.tables.store.jobs.values()) {
      if (job.tenantId !== tenantId) continue
      for (const id of job.ended) {
        const { outcome, skipReason } = sim.tables.store.log.of(id).at(-1)!
        const name = skipReason === null ? outcome : `${outcome} ${skipReason}`
        counts[name] = (counts[name] ?? 0) + 1
      }
    }
    return counts
  }
  return { sim, addTenant, addHerd, startsOf, outcomesOf }
}

/** The real API, on the store and the clock of the simulation. */
export async function openApi(t: TestContext, sim: Simulation) {
  const { clock, timers } = sim.world
  const random = sim.randomOf('requests')
  const { call } = await setupApp(t, {
    ...sim.tables,
    ...{ clock, timers, random, ids: sim.idsOf('requests'), events: sim.tables },
    census: new TenantCensus({ clock, tenants: sim.tables.tenants }),
    requestShares: new RequestShares({ ...sim.tables, clock, processId: 'this process' }),
    wakeup: { send: (topic) => sim.anyServer(random)?.hear([topic]), on: () => {} },
  })
  return call
}

/** The most executions above the rate at any time: with each start one falls into a bucket that empties at the rate. */
export function mostAtOnce(starts: readonly number[], perMinute: number): number {
  let [spent, before, most] = [0, 0, 0]
  for (const at of starts) {
    spent = Math.max(0, spent - ((at - before) * perMinute) / minuteMs) + 1
    before = at
    most = Math.max(most, spent)
  }
  return most
}

export const startedBy = (starts: readonly number[], ms: number) => starts.filter((at) => at <= ms).length

/** Every minute in which the starts of a herd of so many were more or fewer than the limit allows. */
export function judge(
  starts: readonly number[],
  { perMinute, count, minutes }: Record<string, number>,
): string[] {
  const wrong: string[] = []
  for (let minute = 0; minute <= minutes!; minute++) {
    const allowed = Math.min(count!, perMinute! * 1.8 + minute * perMinute!)
    const started = startedBy(starts, minute * minuteMs)
    if (started > allowed) wrong.push(`${started} of ${allowed} in minute ${minute}`)
    // Executions that were let go within the last second are on their way; a large burst takes some seconds.
    const onTheirWay = Math.ceil(perMinute! / 60) + 1
    if (minute > 0 && started < allowed - onTheirWay)
      wrong.push(`only ${started} of ${allowed} in minute ${minute}`)
  }
  return wrong
}
