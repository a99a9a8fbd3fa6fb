// npm run bench -- handlers [--quick]: no-op in-process work from enqueue to recorded end, ours compared with BullMQ,
// graphile-worker and pg-boss. Goal: three times the fastest of them, with history kept. Our equivalent of their bulk
// call is `POST /jobs/{id}/triggers`: a thousand executions per request of a job that allows overlaps, each with a
// payload. Slots of jobs registered beforehand, with default policies, count from their instant and include every cost,
// from cursor to history. Single triggers are a line of their own: nobody enqueues to a peer that way.
import { makeDataDir } from './carillon.ts'
import { requireDisk } from './disk.ts'
import { type Ours, type Round, startOurs } from './handlers-ours.ts'
import { startPeer } from './handlers-peer.ts'
import { figure, say, table } from './output.ts'
import type { PeerName } from './peers/peer.ts'
import { measureTree } from './process-tree.ts'
import { type RedisDurability, startRedis } from './redis.ts'
import { connectTo } from './register.ts'
import { describeSpread, interleave, type Spread, spreadOf, windowsMin } from './windows.ts'

const goal = 3
/** Jobs per round with slots that come at once: each is registered beforehand. */
const slotsOf = { whole: 20_000, quick: 10_000 }

/** One contestant of the comparison. */
interface Line {
  name: string
  metric: string
  history: string
  durable: string
  /** Set for the line of a peer that we measure ourselves against. */
  against?: PeerName
  round: () => Promise<Round>
}

const redisKinds: Record<RedisDurability, { name: string; durable: string }> = {
  memory: { name: 'Redis in memory', durable: 'no' },
  everysec: { name: 'Redis, AOF everysec', durable: 'all but the last second' },
  always: { name: 'Redis, AOF always', durable: 'yes' },
}

export async function run({ quick }: { quick: boolean }): Promise<void> {
  await requireDisk(4)
  // Rounds of about a second or more: the first moments of a round do not show a sustained rate.
  const jobs = quick ? 30_000 : 100_000
  await using resources = new AsyncDisposableStack()
  const dataDir = resources.use(await makeDataDir())
  const slots = quick ? slotsOf.quick : slotsOf.whole
  const ours = resources.use(await startOurs(dataDir.path, { jobs, slots }))
  const lines = [
    ...ourLines(ours, { slots, quick }),
    ...(await bullmqLines(resources, { jobs, quick })),
    await postgresLine(resources, { name: 'graphile-worker', ours, dataDir: dataDir.path, jobs }),
    await postgresLine(resources, { name: 'pg-boss', ours, dataDir: dataDir.path, jobs }),
  ]
  // Not counted: it fills caches and compiles code.
  for (const { round } of lines) await round()
  const cpuUs = new Map(lines.map(({ name }) => [name, [] as number[]]))
  const contestants = lines.map(({ name, round }) => ({
    name,
    async measure() {
      const measured = await round()
      cpuUs.get(name)!.push(measured.cpuUs)
      return measured.perS
    },
  }))
  const perS = await interleave(contestants, windowsMin)
  report(lines, { jobs, perS, cpuUs: new Map([...cpuUs].map(([name, list]) => [name, spreadOf(list)])) })
}

function ourLines(ours: Ours, { slots, quick }: { slots: number; quick: boolean }): Line[] {
  const kept = { history: 'every attempt', durable: 'yes' }
  const lines: Line[] = [
    { name: 'Carillon --handlers', metric: 'per_s', ...kept, round: () => ours.roundOfMany('noop') },
    {
      name: 'Carillon, SDK worker over HTTP',
      metric: 'sdk_per_s',
      ...kept,
      round: () => ours.roundOfMany('noop-sdk'),
    },
    {
      name: `Carillon --handlers, slots of ${slots.toLocaleString('en')} jobs`,
      metric: 'slots_per_s',
      ...kept,
      round: () => ours.roundOfSlots('noop'),
    },
  ]
  if (quick) return lines
  const name = 'Carillon --handlers, a request each'
  return [...lines, { name, metric: 'triggered_per_s', ...kept, round: () => ours.roundOfTriggers('noop') }]
}

async function bullmqLines(
  resources: AsyncDisposableStack,
  { jobs, quick }: { jobs: number; quick: boolean },
): Promise<Line[]> {
  const kinds: RedisDurability[] = quick ? ['memory'] : ['memory', 'everysec', 'always']
  const lines: Line[] = []
  for (const kind of kinds) {
    const redis = resources.use(await startRedis(kind))
    const cpuSeconds = () => measureTree(redis.pid).cpuSeconds
    const peer = resources.use(await startPeer('bullmq', redis.url, cpuSeconds))
    lines.push({
      name: `BullMQ, ${redisKinds[kind].name}`,
      metric: kind === 'memory' ? 'bullmq_per_s' : `bullmq_${kind}_per_s`,
      history: 'ended jobs, in memory',
      durable: redisKinds[kind].durable,
      // The fastest variant, though nobody runs it that way when durability matters.
      ...(kind === 'memory' && { against: 'bullmq' }),
      round: () => peer.round(jobs),
    })
  }
  return lines
}

interface PostgresPeer {
  name: 'graphile-worker' | 'pg-boss'
  ours: Ours
  dataDir: string
  jobs: number
}

async function postgresLine(
  resources: AsyncDisposableStack,
  { name, ours, dataDir, jobs }: PostgresPeer,
): Promise<Line> {
  const place = await createDatabase(dataDir, name)
  const peer = resources.use(await startPeer(name, place, () => ours.postgresCpuSeconds()))
  return {
    name,
    metric: `${name}_per_s`,
    history: name === 'pg-boss' ? 'ended jobs, 7 days' : 'none',
    durable: 'yes',
    against: name,
    round: () => peer.round(jobs),
  }
}

/** In our own PostgreSQL, so that its settings are the same for all. */
async function createDatabase(dataDir: string, name: string): Promise<string> {
  const client = await connectTo(dataDir)
  await client.query(`CREATE DATABASE "${name}"`)
  const { host } = client
  await client.end()
  return `postgres://postgres@/${name}?host=${encodeURIComponent(host)}`
}

interface Measured {
  jobs: number
  perS: ReadonlyMap<string, Spread>
  cpuUs: ReadonlyMap<string, Spread>
}

function report(lines: readonly Line[], { jobs, perS, cpuUs }: Measured): void {
  const perSOf = ({ name }: Line) => perS.get(name)!.median
  const own = perSOf(lines[0]!)
  say(
    `${jobs.toLocaleString('en')} jobs a round, from the first one enqueued (slots: from that instant) to the last end on record; ` +
      `medians of ${windowsMin} interleaved rounds and their spread. CPU: all processes of that side and its database.`,
  )
  table(
    lines.map((line) => ({
      'run by': line.name,
      'jobs/s': describeSpread(perS.get(line.name)!),
      'Carillon --handlers against it': `${(own / perSOf(line)).toFixed(2)} x`,
      goal: line.against === undefined ? '' : `${goal} x`,
      'CPU, µs a job': describeSpread(cpuUs.get(line.name)!),
      history: line.history,
      durable: line.durable,
    })),
  )
  for (const line of lines) {
    const { metric, name, against } = line
    figure({ bench: 'handlers', metric, value: perSOf(line), unit: '1/s' })
    const cpu = cpuUs.get(name)!.median
    figure({ bench: 'handlers', metric: metric.replace('per_s', 'cpu'), value: cpu, unit: 'µs' })
    if (against === undefined) continue
    figure({
      bench: 'handlers',
      metric: 'per_s',
      value: own,
      unit: '1/s',
      ratio: own / perSOf(line),
      against,
    })
  }
  const best = lines
    .filter(({ against }) => against !== undefined)
    .toSorted((a, b) => perSOf(b) - perSOf(a))[0]!
  say(`against the fastest of the three, ${best.name}: ${(own / perSOf(best)).toFixed(2)} x (goal ${goal} x)`)
}
