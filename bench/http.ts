// npm run bench -- http [--quick]: cron jobs due every second, real callbacks to a target on this machine, history on.
// How many a second are sustained with a p99 lateness below a second, by as many server processes as `npm start` uses
// and by another number of them; their cost, by process; and beside it the limit: bare undici calls to the same target,
// window by window.
import { availableParallelism } from 'node:os'
import { measureBare } from './bare.ts'
import { type Carillon, makeDataDir, startCarillon } from './carillon.ts'
import { requireDisk } from './disk.ts'
import { createJobs, type LoadResult, measure, switchJobs, wait } from './load.ts'
import type { BenchOptions } from './main.ts'
import { figure, say, table } from './output.ts'
import { measureTree } from './process-tree.ts'
import { startTarget, type Target } from './target.ts'
import { describeSpread, spreadOf, windowsMin } from './windows.ts'

interface Size {
  firstRate: number
  step: number
  /** From look to look. */
  lookStep: number
  /** Of a look, and of the proof. */
  lookS: number
  proofS: number
  windowS: number
}

// A window divides half a minute.
const quickSize: Size = { firstRate: 6_000, step: 2_000, lookStep: 4_000, lookS: 4, proofS: 15, windowS: 5 }
const wholeSize: Size = { firstRate: 8_000, step: 1_000, lookStep: 2_000, lookS: 8, proofS: 60, windowS: 10 }
const goalPerS = 10_000
const goalOfBare = 0.6
/** Pausing and resuming take effect at once, but code is compiled and plans are made in the first seconds. */
const settleMs = 3_000
const rateMax = 20_000
/** Maximum lateness of a sustained load; also the time that the bare calls leave free before the next window. */
const lateMs = 1_000

export async function run({ quick }: BenchOptions): Promise<void> {
  await requireDisk(5)
  const size = quick ? quickSize : wholeSize
  // On two cores it takes one.
  const other = availableParallelism() >= 4 ? '1' : '2'
  const all = await measureServer({}, size, await withServer({}, size, findRate), true)
  // The rate that this number of processes sustains is found on the way down.
  const others = await measureServer({ CARILLON_PROCESSES: other }, size, all.perS, false)
  table([row('as npm start takes', all), row(other, others)])
  say(`goal: ${goalPerS.toLocaleString('en')} a second sustained, and ${goalOfBare} of the bare undici loop`)
  const bare = all.bare!
  say(`bare undici calls to the same target a second: ${describeSpread(bare)}`)
  say(
    `ours, in the windows between: ${describeSpread(all.windows!)}; ratio ${(all.windows!.median / bare.median).toFixed(2)}`,
  )
  const { perS } = all
  figure({ bench: 'http', metric: 'sustained_per_s', value: perS, unit: '1/s' })
  const ratio = all.windows!.median / bare.median
  figure({ bench: 'http', metric: 'sustained_per_s', value: perS, unit: '1/s', ratio, against: 'undici' })
  figure({
    bench: 'http',
    metric: 'sustained_per_s',
    value: perS,
    unit: '1/s',
    ratio: perS / others.perS,
    against: `${other} ${other === '1' ? 'process' : 'processes'}`,
  })
  figure({ bench: 'http', metric: 'cpu_of_server', value: all.cost.server, unit: 'µs' })
  figure({ bench: 'http', metric: 'cpu_of_postgresql', value: all.cost.postgres, unit: 'µs' })
  figure({ bench: 'http', metric: 'cpu_of_target', value: all.cost.target, unit: 'µs' })
}

interface Cost {
  /** µs an execution. */
  server: number
  postgres: number
  target: number
}

interface Sustained {
  perS: number
  proof: LoadResult
  cost: Cost
  windows?: ReturnType<typeof spreadOf>
  bare?: ReturnType<typeof spreadOf>
}

/**
 * The highest proven rate from this one downwards, each on a server that was never asked for more: a server that was
 * overloaded still has its backlog to work off.
 */
async function measureServer(
  env: Record<string, string>,
  size: Size,
  mostPerS: number,
  againstBare: boolean,
): Promise<Sustained> {
  for (let rate = mostPerS; rate > 0; rate -= size.step) {
    const found = await withServer(env, { ...size, firstRate: rate }, async (steps) => {
      await steps.add()
      const { result, cost } = await steps.measure(size.proofS)
      if (isGood(result)) {
        return { perS: rate, proof: result, cost, ...(againstBare && (await compare(steps, size))) }
      }
      const { p99, missing } = result
      say(`${rate} due a second for ${size.proofS} s: p99 ${p99.toFixed(0)} ms, ${missing} missing: too much`)
      return null
    })
    if (found !== null) return found
  }
  throw new Error('not even the first rate is sustained')
}

async function withServer<T>(
  env: Record<string, string>,
  size: Size,
  use: (steps: Steps) => Promise<T>,
): Promise<T> {
  await using dataDir = await makeDataDir()
  await using carillon = await startCarillon(dataDir.path, undefined, env)
  await using target = await startTarget()
  return await use(new Steps(carillon, target, size))
}

/** Up until it is too much for some seconds: the highest rate below that. */
async function findRate(steps: Steps): Promise<number> {
  const { lookS, step } = steps.size
  while (steps.rate < rateMax) {
    await steps.add()
    const { result } = await steps.measure(lookS)
    say(`${steps.rate} due a second: p99 ${result.p99.toFixed(0)} ms, ${result.missing} missing`)
    if (!isGood(result)) return steps.rate - step
  }
  return steps.rate
}

/** Sustained: all of them come, and 99 of 100 within a second. */
function isGood({ p99, missing, early }: LoadResult): boolean {
  if (early > 0) throw new Error(`${early} calls came before their time`)
  return p99 < 1_000 && missing === 0
}

/**
 * Jobs that are due in every second of a window and not in the next one, so that nothing has to be switched: the bare
 * calls use the time between.
 */
async function compare(steps: Steps, { windowS }: Size): Promise<Pick<Sustained, 'windows' | 'bare'>> {
  const { carillon, target, rate } = steps
  await steps.pauseAll()
  await createJobs(carillon, target, rate, { tag: 'windows', schedule: `${secondsOf(windowS)} * * * * *` })
  const ours: number[] = []
  const bare: number[] = []
  const turnMs = 2 * windowS * 1_000
  for (let turn = 0; turn <= windowsMin; turn++) {
    const fromMs = Math.ceil((Date.now() + 500) / turnMs) * turnMs
    const toMs = fromMs + windowS * 1_000
    await wait(fromMs - 500 - Date.now())
    await target.take()
    await wait(toMs + lateMs - Date.now())
    const came = (await target.take()).filter(({ slotMs }) => slotMs >= fromMs && slotMs < toMs)
    const calls = await measureBare(target, windowS - (2 * lateMs) / 1_000)
    // In the first turn plans are made, and connections.
    if (turn === 0) continue
    ours.push(new Set(came.map(({ executionId }) => executionId)).size / windowS)
    bare.push(calls)
  }
  return { windows: spreadOf(ours), bare: spreadOf(bare) }
}

/** The seconds of every other window, as cron has them. */
function secondsOf(windowS: number): string {
  const starts = Array.from({ length: 30 / windowS }, (_, turn) => 2 * windowS * turn)
  return starts.map((start) => `${start}-${start + windowS - 1}`).join(',')
}

/** Jobs in steps, so that a step can be taken back. */
class Steps {
  readonly carillon: Carillon
  readonly target: Target
  readonly size: Size
  readonly #sizes: number[] = []

  constructor(carillon: Carillon, target: Target, size: Size) {
    this.carillon = carillon
    this.target = target
    this.size = size
  }

  get rate(): number {
    return this.#sizes.reduce((sum, size) => sum + size, 0)
  }

  async add(): Promise<void> {
    const count = this.#sizes.length === 0 ? this.size.firstRate : this.size.lookStep
    await createJobs(this.carillon, this.target, count, { tag: `step-${this.#sizes.length}` })
    this.#sizes.push(count)
    await wait(settleMs)
  }

  async pauseAll(): Promise<void> {
    for (let step = 0; step < this.#sizes.length; step++)
      await switchJobs(this.carillon, 'pause', `step-${step}`)
  }

  async measure(seconds: number): Promise<{ result: LoadResult; cost: Cost }> {
    const look = () => ({
      all: measureTree(this.carillon.child.pid!),
      target: measureTree(this.target.pid).cpuSeconds,
      ms: performance.now(),
    })
    const before = look()
    const result = await measure(this.target, this.rate, seconds)
    const after = look()
    const executions = (result.executionsPerS * (after.ms - before.ms)) / 1_000
    const each = (cpuSeconds: number) => (cpuSeconds * 1e6) / executions
    const postgres = after.all.postgres.cpuSeconds - before.all.postgres.cpuSeconds
    const cost = {
      server: each(after.all.cpuSeconds - before.all.cpuSeconds - postgres),
      postgres: each(postgres),
      target: each(after.target - before.target),
    }
    return { result, cost }
  }
}

function row(processes: string, { perS, proof, cost }: Sustained): object {
  return {
    processes,
    'sustained a second': perS,
    'p50 ms': proof.p50.toFixed(0),
    'p99 ms': proof.p99.toFixed(0),
    doubled: proof.doubled,
    'CPU µs an execution: server': cost.server.toFixed(0),
    PostgreSQL: cost.postgres.toFixed(0),
    target: cost.target.toFixed(0),
  }
}
