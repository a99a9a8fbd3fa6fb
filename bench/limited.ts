// npm run bench -- limited [--quick]: the cost of an execution of a tenant with a limit on executions a minute that it does
// not reach, beside one of a tenant without a limit, in turns: from sending a trigger to its call, and CPU of a slot.
import type pg from 'pg'
import { Pool } from 'undici'
import { createTriggered, sendAll, type Triggered, takeAll } from './adhoc.ts'
import { type Carillon, makeDataDir, startCarillon } from './carillon.ts'
import { countSlots, registerDue, untilOver, withDatabase } from './due-jobs.ts'
import { createTenantAt } from './limited-tenant.ts'
import { wait } from './load.ts'
import type { BenchOptions } from './main.ts'
import { figure, say, table } from './output.ts'
import { measureTree } from './process-tree.ts'
import { latenessOf, startTimedTarget, type TimedTarget } from './timed-target.ts'

/** Above every rate of this measurement: nothing waits for the budget. */
const perMinute = 10_000_000
const names = ['limited', 'unlimited'] as const
type Name = (typeof names)[number]
type TenantIds = Readonly<Record<Name, string>>

const triggerEveryMs = 47
const warmUps = 50
const leadMs = 4_000
const overMsMax = 60_000

export async function run({ quick }: BenchOptions): Promise<void> {
  await using dataDir = await makeDataDir()
  await using carillon = await startCarillon(dataDir.path)
  await using target = await startTimedTarget()
  const tenantIds: TenantIds = {
    limited: await createTenantAt(carillon, 'limited', perMinute),
    unlimited: await createTenantAt(carillon, 'unlimited', null),
  }
  await withDatabase(dataDir.path, async (client) => {
    await measureTriggers(carillon, client, { target, tenantIds, count: quick ? 100 : 500 })
    const size = quick ? { rounds: 2, seconds: 4, perS: 500 } : { rounds: 6, seconds: 15, perS: 3_000 }
    await measureSlots(carillon, client, { target, tenantIds, ...size })
  })
}

async function measureTriggers(
  carillon: Carillon,
  client: pg.Client,
  { target, tenantIds, count }: { target: TimedTarget; tenantIds: TenantIds; count: number },
): Promise<void> {
  const pool = new Pool(carillon.url, { connections: 64, pipelining: 1 })
  const byName = new Map<Name, Triggered[]>()
  for (const name of names)
    byName.set(name, await createTriggered(client, target, warmUps + count, tenantIds[name]))
  const inTurns = (some: number) =>
    Array.from({ length: some }, () => names.map((name) => byName.get(name)!.pop()!)).flat()
  await sendAll(pool, carillon, inTurns(warmUps), 20)
  await wait(1_000)
  await target.take()
  const sent = await sendAll(pool, carillon, inTurns(count), triggerEveryMs)
  const arrivals = await takeAll(target, sent)
  await pool.close()
  const results = names.map((name, at) => {
    const own = sent.filter((_, index) => index % names.length === at)
    const start = latenessOf(own.map(({ executionId, sentMs }) => arrivals.get(executionId)! - sentMs))
    const answer = latenessOf(own.map(({ sentMs, answeredMs }) => answeredMs - sentMs))
    return { name, start, answer }
  })
  const [limited, unlimited] = results as [(typeof results)[0], (typeof results)[0]]
  for (const part of ['p50', 'p99'] as const) {
    const value = limited.start[part]
    const ratio = value / unlimited.start[part]
    figure({ bench: 'limited', metric: `start_${part}`, value, unit: 'ms', ratio, against: 'unlimited' })
  }
  const ms = (value: number) => value.toFixed(2)
  table(
    results.map(({ name, start, answer }) => ({
      tenant: name,
      'start ms p50': ms(start.p50),
      p99: ms(start.p99),
      'answered ms p50': ms(answer.p50),
      'p99 ': ms(answer.p99),
    })),
  )
  say(`${count} triggers of each tenant in turns; ms: from sending a trigger to its call, and to its answer.`)
}

interface SlotOptions {
  target: TimedTarget
  tenantIds: TenantIds
  rounds: number
  seconds: number
  perS: number
}

/** CPU of the server and its PostgreSQL, an execution. */
async function measureSlots(carillon: Carillon, client: pg.Client, options: SlotOptions): Promise<void> {
  const { rounds } = options
  const found = new Map<Name, number[]>(names.map((name) => [name, []]))
  // The first round warms up.
  for (let round = 0; round <= rounds; round++)
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const us = await measureWindow(carillon, client, { ...options, name, tag: `${name}-${round}` })
      if (round > 0) found.get(name)!.push(us)
    }
  const [limited, unlimited] = names.map((name) => medianOf(found.get(name)!)) as [number, number]
  const ratio = limited / unlimited
  figure({ bench: 'limited', metric: 'cpu', value: limited, unit: 'us', ratio, against: 'unlimited' })
  const listed = (name: Name) => found.get(name)!.map((us) => us.toFixed(0)).join(', ') // biome-ignore format: one line
  table(
    names.map((name) => ({
      tenant: name,
      'CPU µs an execution': medianOf(found.get(name)!).toFixed(1),
      windows: listed(name),
    })),
  )
  say(`limited over unlimited: ${ratio.toFixed(3)}, medians of ${rounds} windows each, in turns`)
}

async function measureWindow(
  carillon: Carillon,
  client: pg.Client,
  { target, tenantIds, seconds, perS, name, tag }: SlotOptions & { name: Name; tag: string },
): Promise<number> {
  const firstMs = Math.ceil((Date.now() + leadMs) / 1_000) * 1_000
  const lastMs = firstMs + (seconds - 1) * 1_000
  const jobs = { tag, count: perS, tenantId: tenantIds[name], cron: '* * * * * *', firstMs, lastMs }
  await registerDue(client, { ...jobs, url: `${target.url}/counted` })
  await wait(firstMs - 500 - Date.now())
  const before = measureTree(carillon.child.pid!).cpuSeconds
  await wait(lastMs + 1_000 - Date.now())
  await untilOver(client, overMsMax)
  const cpuS = measureTree(carillon.child.pid!).cpuSeconds - before
  const { fired } = await countSlots(client, { tag, fromMs: firstMs, toMs: lastMs + 1_000 })
  return (cpuS * 1_000_000) / fired
}

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return (sorted[Math.floor((sorted.length - 1) / 2)]! + sorted[Math.floor(sorted.length / 2)]!) / 2
}
