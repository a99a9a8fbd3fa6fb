// npm run bench -- scale [--quick] [--full]: the cost of registered jobs that are not due. Servers with 10 thousand,
// 100 thousand, 1 million and (--full) 10 million jobs, of which the same 100 are due every second; the others run once
// a year and none of them meanwhile. Starts are measured one at a time and in turn; then all servers run at once, so
// that other load on the machine affects all of them alike, and their CPU and memory are compared.
import { type Carillon, makeDataDir, startCarillon } from './carillon.ts'
import { requireDisk } from './disk.ts'
import { createJobs, type LoadResult, measure, wait } from './load.ts'
import { figure, say, table } from './output.ts'
import { measureTree } from './process-tree.ts'
import { connectTo } from './register.ts'
import { registerYearly } from './register-many.ts'
import { serverMemoryMb } from './server-memory.ts'
import { startTarget, type Target } from './target.ts'
import { describeSpread, type Spread, spreadOf, windowsMin } from './windows.ts'

/** Every second. */
const due = 100
const firstPort = 17_420
/** Code is compiled, caches are warm and memory has found its level. */
const settleMs = { quick: 8_000, whole: 30_000 }
const firstCallMsMax = 60_000
/** Minimum share of due executions that arrive: a machine that stalls for a second makes a job skip a slot. */
const arrivedMin = 0.95

interface Place {
  jobs: number
  port: number
  dataDir: string
  target: Target
}

interface Start {
  readyMs: number
  /** Until the first call reached its target. */
  firstCallMs: number
}

interface Tick {
  serverMsPerS: number
  postgresMsPerS: number
  memoryMb: number
  late: LoadResult
}

export async function run({ quick, full }: { quick: boolean; full: boolean }): Promise<void> {
  const sizes = [10_000, 100_000, ...(quick ? [] : [1_000_000]), ...(full ? [10_000_000] : [])]
  await requireDisk(full ? 40 : quick ? 2 : 8)
  await using resources = new AsyncDisposableStack()
  const places: Place[] = []
  for (const [index, jobs] of sizes.entries())
    places.push(await prepare(resources, { jobs, port: firstPort + index }))
  const starts = new Map(places.map((place): [Place, Start[]] => [place, []]))
  for (let turn = 0; turn < windowsMin; turn++)
    for (const place of places) starts.get(place)!.push(await measureStart(place))
  const ticks = await measureTicks(places, quick)
  report(places, starts, ticks)
  if (!full) say('10 million jobs: npm run bench -- scale --full')
}

async function prepare(
  resources: AsyncDisposableStack,
  { jobs, port }: { jobs: number; port: number },
): Promise<Place> {
  say(`preparing ${jobs.toLocaleString('en')} jobs`)
  const { path: dataDir } = resources.use(await makeDataDir())
  const target = resources.use(await startTarget())
  await using carillon = await startCarillon(dataDir, port)
  await createJobs(carillon, target, due)
  const client = await connectTo(dataDir)
  await registerYearly(client, jobs - due)
  await client.end()
  return { jobs, port, dataDir, target }
}

async function measureStart({ dataDir, port, target }: Place): Promise<Start> {
  await target.take()
  const startedMs = Date.now()
  await using carillon = await startCarillon(dataDir, port)
  while (Date.now() - startedMs < firstCallMsMax) {
    const first = (await target.take())[0]
    if (first !== undefined) return { readyMs: carillon.readyMs, firstCallMs: first.atMs - startedMs }
    await wait(20)
  }
  throw new Error(`no job was called within ${firstCallMsMax / 1_000} s of the start`)
}

async function measureTicks(places: readonly Place[], quick: boolean): Promise<Map<Place, Tick[]>> {
  const seconds = quick ? 2 : 6
  await using resources = new AsyncDisposableStack()
  const servers: [Place, Carillon][] = []
  for (const place of places)
    servers.push([place, resources.use(await startCarillon(place.dataDir, place.port))])
  await wait(quick ? settleMs.quick : settleMs.whole)
  const ticks = new Map(places.map((place): [Place, Tick[]] => [place, []]))
  for (let turn = 0; turn < windowsMin; turn++) {
    await Promise.all(
      servers.map(async ([place, carillon]) =>
        ticks.get(place)!.push(await measureTick(place, carillon, seconds)),
      ),
    )
  }
  return ticks
}

async function measureTick({ jobs, target }: Place, { child }: Carillon, seconds: number): Promise<Tick> {
  const before = measureTree(child.pid!)
  const startedMs = performance.now()
  const late = await measure(target, due, seconds)
  const after = measureTree(child.pid!)
  const tookS = (performance.now() - startedMs) / 1_000
  if (late.executionsPerS < arrivedMin * due)
    throw new Error(`with ${jobs} jobs ${late.missing} of ${due * seconds} calls never came`)
  const msPerS = (cpuSeconds: number) => (1_000 * cpuSeconds) / tookS
  const postgres = after.postgres.cpuSeconds - before.postgres.cpuSeconds
  return {
    serverMsPerS: msPerS(after.cpuSeconds - before.cpuSeconds - postgres),
    postgresMsPerS: msPerS(postgres),
    memoryMb: serverMemoryMb(child.pid!),
    late,
  }
}

/** Sizes side by side, as they are compared. */
function report(places: readonly Place[], starts: Map<Place, Start[]>, ticks: Map<Place, Tick[]>): void {
  const of = (read: (tick: Tick) => number) =>
    places.map((place) => ({ place, spread: spreadOf(ticks.get(place)!.map(read)) }))
  const startsOf = (read: (start: Start) => number) =>
    places.map((place) => ({ place, spread: spreadOf(starts.get(place)!.map(read)) }))
  const cpu = of((tick) => tick.serverMsPerS + tick.postgresMsPerS)
  const memory = of((tick) => tick.memoryMb)
  const ready = startsOf((start) => start.readyMs)
  const first = startsOf((start) => start.firstCallMs)
  const p99 = of((tick) => tick.late.p99)
  say(
    `${due} jobs due every second, the others once a year; medians of ${windowsMin} windows (least to most)`,
  )
  table([
    row(
      'CPU of the server, ms a second',
      of((tick) => tick.serverMsPerS),
    ),
    row(
      'CPU of PostgreSQL, ms a second',
      of((tick) => tick.postgresMsPerS),
    ),
    ratioRow('both, against the smallest', cpu, '10 million: 1.5x'),
    row('memory of the server, MB', memory),
    ratioRow('memory, against the smallest', memory, '10 million: 1.5x'),
    row(
      'calls late by, p50 ms',
      of((tick) => tick.late.p50),
    ),
    row('calls late by, p99 ms', p99),
    row('start to ready, ms', ready, '1 million: 5,000'),
    row('start to first call, ms', first),
  ])
  figures('tick_cpu', 'ms/s', cpu)
  figures('memory', 'MB', memory)
  figures('late_p99', 'ms', p99)
  figures('start', 'ms', ready)
  figures('start_to_first_call', 'ms', first)
}

type Measured = readonly { place: Place; spread: Spread }[]

const nameOf = ({ jobs }: Place) => `${jobs.toLocaleString('en')} jobs`

function row(what: string, measured: Measured, goal = ''): object {
  const cells = measured.map(({ place, spread }) => [nameOf(place), describeSpread(spread)])
  return { what, ...Object.fromEntries(cells), goal }
}

function ratioRow(what: string, measured: Measured, goal: string): object {
  const cells = measured.map((one) => [nameOf(one.place), `${ratioOf(one.spread, measured).toFixed(2)}x`])
  return { what, ...Object.fromEntries(cells), goal }
}

function ratioOf({ median }: Spread, measured: Measured): number {
  return median / measured[0]!.spread.median
}

function figures(what: string, unit: string, measured: Measured): void {
  for (const { place, spread } of measured) {
    const metric = `${what}_at_${place.jobs}_jobs`
    const ratio = ratioOf(spread, measured)
    figure({
      bench: 'scale',
      metric,
      value: spread.median,
      unit,
      ratio,
      against: `${measured[0]!.place.jobs} jobs`,
    })
  }
}
