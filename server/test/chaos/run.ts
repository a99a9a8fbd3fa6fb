// One run from the first process to the last: brings up the cluster, the receiver and the driver, lets the faults come,
// heals, waits until all work is done, has it judged, and leaves nothing behind.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { SeededRandom } from '../virtual-world.ts'
import { check, type Figures, type Violation } from './check.ts'
import { type Cluster, startCluster } from './cluster.ts'
import { mayMount } from './disk.ts'
import { startDriver } from './driver.ts'
import { findFaketime } from './faketime.ts'
import type { KindName } from './faults.ts'
import { Guard } from './guard.ts'
import type { FaultLine } from './history.ts'
import { runNemesis } from './nemesis.ts'
import { takeOldVersion } from './old-version.ts'
import { Rig } from './rig.ts'
import { Watch } from './watch.ts'

export interface ChaosOptions {
  seed: number
  minutes: number
  kinds: readonly KindName[]
  /** Whether every kind has its turn, though it takes longer than `minutes`. */
  strikesAll?: boolean
  /** Executions a second, about. */
  ratePerSecond: number
  /** Whether failover and reclaim must be in time: not on a machine that others use too. */
  judgesBounds: boolean
  /** Keeps the output of the run: logs, evidence and PostgreSQL's data. A run with violations always does. */
  keep: boolean
  signal: AbortSignal
  say: (line: string) => void
  /** Called every second or so while faults come. */
  onProgress?: (progress: Progress) => void
}

export interface Progress {
  elapsedMs: number
  faults: number
  striking: readonly string[]
  unheld: number
  answered: number
}

export interface ChaosReport {
  seed: number
  minutes: number
  kinds: readonly KindName[]
  /** The kinds of fault that could not be run here, and why. */
  leftOut: readonly string[]
  faults: readonly FaultLine[]
  drainMs: number
  figures: Figures
  violations: readonly Violation[]
  /** Where everything is; null: nothing was kept. */
  dir: string | null
}

const bounds = { failoverMsMax: 10_000, reclaimMsMax: 15_000 }
const progressEveryMs = 1_000

export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { seed, minutes, signal, say } = options
  const dir = await mkdtemp(join(tmpdir(), 'carillon-chaos-'))
  let keeps = options.keep
  await using resources = new AsyncDisposableStack()
  resources.defer(async () => {
    if (!keeps) await rm(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  })
  const guard = resources.use(new Guard())
  const { kinds, leftOut, oldCheckout, faketime } = await prepare(options, dir)
  say(`starting PostgreSQL and eight servers; everything is in ${dir}`)
  const cluster = resources.use(
    await startCluster({ dir, guard, ownDisk: kinds.includes('disk-full'), random: randomOf(seed) }),
  )
  const receiverUrl = await startReceiverProcess(dir, guard, resources)
  const watch = resources.use(new Watch(dir, cluster.postgres))
  const apiUrls = cluster.nodes.filter(({ role }) => role === 'api').map(({ url }) => url)
  const driver = startDriver({
    dir,
    apiUrls,
    key: cluster.key,
    receiverUrl,
    seed,
    ratePerSecond: options.ratePerSecond,
  })
  await driver.started
  const rig = resources.use(new Rig({ dir, guard, cluster, driver, oldCheckout, faketime, signal }))

  say(`faults for ${minutes} minutes`)
  const startedMs = performance.now()
  const timer = setInterval(() => {
    options.onProgress?.({
      elapsedMs: performance.now() - startedMs,
      faults: rig.faults.length,
      striking: [...rig.striking].map(({ kind, target }) => `${kind} ${target}`),
      unheld: watch.unheld,
      answered: driver.counts().ok,
    })
  }, progressEveryMs)
  resources.defer(() => clearInterval(timer))
  const strikesMin = options.strikesAll === true ? 2 * kinds.length : 0
  await runNemesis(rig, { seed, kinds, forMs: minutes * 60_000, strikesMin })
  clearInterval(timer)
  signal.throwIfAborted()

  say('all is well again; waiting until all work is done')
  await cluster.heal()
  const healedMs = performance.now()
  await driver.stop()
  const drained = await driver.drained()
  const drainMs = performance.now() - healedMs
  signal.throwIfAborted()

  say('checking')
  const { violations, figures } = await check({
    dir,
    databaseUrl: cluster.postgres.url,
    bounds: options.judgesBounds ? bounds : {},
  })
  violations.push(...ownViolations(rig, cluster, drained))
  if (violations.length > 0) keeps = true
  if (keeps) await keepData(cluster, dir)
  return {
    seed,
    minutes,
    kinds,
    leftOut,
    faults: rig.faults,
    drainMs,
    figures,
    violations,
    dir: keeps ? dir : null,
  }
}

interface Prepared {
  kinds: KindName[]
  leftOut: string[]
  oldCheckout: string | null
  faketime: string | null
}

/** Prepares the requirements of some kinds; kinds that cannot have them are left out, and the report says so. */
async function prepare({ kinds, say }: ChaosOptions, dir: string): Promise<Prepared> {
  const leftOut: string[] = []
  const need = async <T>(kind: KindName, get: () => Promise<T>): Promise<T | null> => {
    if (!kinds.includes(kind)) return null
    return get().catch((error: Error) => {
      leftOut.push(`${kind}: ${error.message}`)
      say(`left out ${leftOut.at(-1)}`)
      return null
    })
  }
  const faketime = await need('clock', findFaketime)
  const old = await need('old-version', () => takeOldVersion(dir))
  if (old !== null) say(`the other version is ${old.commit}`)
  const disk = await need('disk-full', async () => {
    if (!mayMount()) throw new Error('only root on Linux can mount a disk of its own')
    return true
  })
  const missing = new Set<KindName>()
  if (faketime === null) missing.add('clock')
  if (old === null) missing.add('old-version')
  if (disk === null) missing.add('disk-full')
  return {
    kinds: kinds.filter((kind) => !missing.has(kind)),
    leftOut,
    oldCheckout: old?.checkout ?? null,
    faketime,
  }
}

async function startReceiverProcess(
  dir: string,
  guard: Guard,
  resources: AsyncDisposableStack,
): Promise<string> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'receiver.ts'), dir, '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
  const { pid } = child
  if (pid === undefined) throw new Error('the receiver did not start')
  guard.watch(pid)
  const exit = once(child, 'exit')
  resources.defer(async () => {
    child.kill('SIGKILL')
    await exit
    guard.prune(pid)
  })
  const [text] = (await once(child.stdout, 'data')) as [Buffer]
  return text.toString().trim()
}

/** Violations that the checker cannot know of. */
function ownViolations(rig: Rig, cluster: Cluster, drained: boolean): Violation[] {
  const found = [...rig.complaints, ...cluster.nodes.flatMap(({ deaths }) => deaths)].map((what) => ({
    invariant: 'rig',
    what,
  }))
  if (!drained)
    found.push({ invariant: 'I14', what: 'work is still under way three minutes after all was well' })
  return found
}

/** With its disk it would be gone. */
async function keepData({ postgres, disk, nodes }: Cluster, dir: string): Promise<void> {
  await Promise.all(nodes.map((node) => node.stop()))
  await postgres[Symbol.asyncDispose]()
  // With its owner, without whom PostgreSQL would not start on it.
  if (disk !== null) await promisify(execFile)('cp', ['-a', join(disk.path, 'pg'), dir])
}

function randomOf(seed: number): () => number {
  const random = new SeededRandom(seed)
  return () => random.next()
}
