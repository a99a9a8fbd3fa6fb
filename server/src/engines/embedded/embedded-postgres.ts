// PostgreSQL as part of our own process tree: opened with us, supervised while we run, stopped with us. Only
// one Carillon uses a data directory at a time; a second one is told who does, and harms nothing.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { withDeadline } from '../../lib/deadline.ts'
import { makeDirectory } from '../../lib/make-directory.ts'
import { OperatingError, StopRequested } from '../../lib/operating-error.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Timers } from '../../ports/timers.ts'
import { postgresLost, postgresReady, postgresWaited } from '../../telemetry/events.ts'
import { type Binaries, embeddedPackageName, prepareBinaries } from './binaries.ts'
import { ensureInitialised } from './data-directory.ts'
import { adoptOnLeash, isAlive, type Leash } from './leash.ts'
import {
  announceUrl,
  connectOwner,
  ensureDatabase,
  findOwner,
  type Owner,
  type OwnerLock,
  takeOwnership,
} from './owner-lock.ts'
import {
  findPostmaster,
  isOnLeash,
  reachSocketDir,
  removeStaleLocks,
  startPostgres,
  stopPostgres,
} from './postmaster.ts'
import { chooseUser, type SystemUser } from './system-user.ts'

export interface EmbeddedOptions {
  dataDir: string
  /** Settings of PostgreSQL that differ from ours. */
  settings?: Readonly<Record<string, string>>
  /** The npm package with the binaries. Default: PostgreSQL 18 for this platform. */
  packageName?: string
  /** Ends the wait for a PostgreSQL that takes long to come up. */
  signal?: AbortSignal
}

export interface EmbeddedDeps {
  clock: Pick<Clock, 'monotonicMs'>
  timers: Timers
}

export const embeddedDatabase = 'carillon'

const settingsOfOurs: Readonly<Record<string, string>> = {
  listen_addresses: '',
  // Relative to the data directory: only its owner and root can reach the socket, so `trust` is safe there.
  unix_socket_directories: '.',
  unix_socket_permissions: '0700',
  cluster_name: 'carillon',
  timezone: 'UTC',
  log_timezone: 'UTC',
  // Statements that fail are reported by whoever sent them; the log is for the server itself.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_checkpoints: 'off',
  shared_buffers: '256MB',
  max_wal_size: '2GB',
  max_connections: '100',
  jit: 'off',
}

/** Crash recovery of a large database takes its time. */
const readyMsMax = 300_000
const tellEveryMs = 5_000
/** How long what is left of a killed PostgreSQL may keep a new one from starting. */
const passingMsMax = 15_000
/** How long a PostgreSQL must have no owner before we take it over: its starter locks within milliseconds. */
const ownerlessMs = 1_000
const restartsMax = 5
const restartsWithinMs = 60_000

export class AlreadyRunning extends OperatingError {
  readonly owner: Owner
  constructor(owner: Owner, dataDir: string) {
    const where = owner.url === '' ? '' : ` at ${owner.url}`
    super(
      `Carillon already runs on ${dataDir}: process ${owner.pid}${where}. ` +
        'Stop it first, or set CARILLON_DATA and CARILLON_PORT to run a second one.',
    )
    this.owner = owner
  }
}

export class EmbeddedPostgres implements AsyncDisposable {
  /** Where `pg` finds it: the directory of its socket. */
  readonly socketDir: string
  /** Rejects when PostgreSQL is gone and could not be brought back; pending otherwise. */
  readonly failed: Promise<never>
  readonly #deps: EmbeddedDeps
  readonly #place: Place
  readonly #fail: (error: unknown) => void
  readonly #supervising: Promise<void>
  #held: Held
  #url = ''
  readonly #stopping = new AbortController()
  #owned = true
  #restartedAtMs: number[] = []

  static async open(deps: EmbeddedDeps, options: EmbeddedOptions): Promise<EmbeddedPostgres> {
    const place = await findPlace(options)
    const held = await hold(deps, place, null, options.signal)
    return new EmbeddedPostgres(deps, place, held)
  }

  private constructor(deps: EmbeddedDeps, place: Place, held: Held) {
    this.#deps = deps
    this.#place = place
    this.#held = held
    this.socketDir = place.socketDir
    const { promise, reject } = Promise.withResolvers<never>()
    this.failed = promise
    this.failed.catch(() => {}) // the first listener may come later than the failure
    this.#fail = reject
    this.#supervising = this.#supervise()
  }

  get version(): string {
    return this.#held.lock.version
  }

  /** Lets a second start say where the first one answers. */
  async announce(url: string): Promise<void> {
    this.#url = url
    await announceUrl(this.#held.lock, url)
  }

  /** Stops PostgreSQL; after `withinMs` without its checkpoint, which the next start then makes up for. */
  async stop(withinMs: number): Promise<void> {
    if (this.#stopping.signal.aborted) return
    this.#stopping.abort()
    await this.#supervising
    // Without the lock it may be somebody else's by now; our leash goes all the same.
    if (this.#owned) await stopPostgres(this.#place.pgDir, this.#deps.timers, withinMs)
    this.#held.leash.release()
    await closeLock(this.#deps, this.#held.lock)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop(10_000)
  }

  // The lock's connection ends when PostgreSQL does, and also when only its session was ended.
  async #supervise(): Promise<void> {
    const { signal } = this.#stopping
    const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    try {
      while (true) {
        await Promise.race([this.#held.lock.lost, stopped])
        if (signal.aborted) return
        this.#owned = false
        postgresLost.emit({ reason: 'its connection ended' })
        this.#countRestart()
        this.#held = await hold(this.#deps, this.#place, this.#held.leash, signal)
        this.#owned = true
        if (this.#url !== '') await announceUrl(this.#held.lock, this.#url)
      }
    } catch (error) {
      if (!signal.aborted) this.#fail(error)
    }
  }

  #countRestart(): void {
    const nowMs = this.#deps.clock.monotonicMs()
    this.#restartedAtMs = this.#restartedAtMs.filter((atMs) => nowMs - atMs < restartsWithinMs)
    this.#restartedAtMs.push(nowMs)
    if (this.#restartedAtMs.length > restartsMax) {
      throw new OperatingError(
        `PostgreSQL ended ${restartsMax + 1} times within a minute. Its log: ${this.#place.logFile}`,
      )
    }
  }
}

interface Place {
  dataDir: string
  pgDir: string
  socketDir: string
  logFile: string
  user: SystemUser | null
  binaries: Binaries
  settings: Readonly<Record<string, string>>
}

interface Held {
  leash: Leash
  lock: OwnerLock
}

async function findPlace(options: EmbeddedOptions): Promise<Place> {
  try {
    return await makePlace(options)
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    if (cause instanceof OperatingError || code === undefined) throw cause
    throw new OperatingError(
      `The data directory ${options.dataDir} (CARILLON_DATA) cannot be used: ${message}`,
      { cause },
    )
  }
}

async function makePlace(options: EmbeddedOptions): Promise<Place> {
  const { dataDir, packageName = embeddedPackageName() } = options
  const pgDir = join(dataDir, 'pg')
  await makeDirectory(dataDir, 0o700)
  const user = await chooseUser(pgDir)
  const binaries = await prepareBinaries(packageName, user, dataDir)
  await ensureInitialised(pgDir, user, binaries)
  return {
    dataDir,
    pgDir,
    socketDir: await reachSocketDir(pgDir),
    logFile: join(dataDir, 'postgres.log'),
    user,
    binaries,
    settings: { ...settingsOfOurs, ...options.settings },
  }
}

/**
 * Until we hold the lock on a running PostgreSQL: start it if none runs, wait while one comes up or goes down,
 * take over one that nobody owns, give up if somebody else owns it.
 */
async function hold(
  deps: EmbeddedDeps,
  place: Place,
  previous: Leash | null,
  signal?: AbortSignal,
): Promise<Held> {
  const beganMs = deps.clock.monotonicMs()
  let own: Started | null = null
  let unownedSinceMs: number | null = null
  let toldMs = 0

  try {
    while (true) {
      const elapsedMs = deps.clock.monotonicMs() - beganMs
      if (signal?.aborted) throw new StopRequested()
      if (elapsedMs > readyMsMax) {
        throw new OperatingError(`PostgreSQL accepts no connections. ${await quoteLog(place, own)}`)
      }
      const unownedMs = unownedSinceMs === null ? 0 : elapsedMs - unownedSinceMs
      const found = await look(place, [own?.leash ?? null, previous], unownedMs)

      if (found.kind === 'ours') {
        await prepareDatabase(deps, found.lock)
        const how = found.leash === null ? 'adopted' : 'started'
        postgresReady.emit({ how, version: found.lock.version, postgresPid: found.pid, tookMs: elapsedMs })
        return { lock: found.lock, leash: found.leash ?? adoptOnLeash(found.pid, place.user) }
      }
      if (found.kind === 'owned') throw new AlreadyRunning(found.owner, place.dataDir)
      if (found.kind === 'none' && (own === null || own.ended)) {
        if (own !== null) await refuseUnlessPassing(place, own, elapsedMs)
        own = await start(place)
      }
      unownedSinceMs = found.kind === 'unowned' ? (unownedSinceMs ?? elapsedMs) : null

      if (elapsedMs - toldMs > tellEveryMs) {
        toldMs = elapsedMs
        postgresWaited.emit({ waitedMs: elapsedMs, logFile: place.logFile })
      }
      await deps.timers.wait(20)
    }
  } catch (error) {
    // What we started goes with us; a PostgreSQL on another leash does not notice.
    own?.leash.release()
    await own?.leash.ended
    throw error
  }
}

async function prepareDatabase(deps: EmbeddedDeps, lock: OwnerLock): Promise<void> {
  try {
    await ensureDatabase(lock, embeddedDatabase)
  } catch (cause) {
    await closeLock(deps, lock)
    throw new OperatingError(`PostgreSQL cannot make its database: ${(cause as Error).message}`, { cause })
  }
}

/** A session whose backend hangs answers no good-bye. */
async function closeLock(deps: EmbeddedDeps, { client }: OwnerLock): Promise<void> {
  const closed = client.end().catch(() => {})
  if ((await withDeadline(deps.timers, 500, closed)) === 'late') client.connection.stream.destroy()
}

type Found =
  | { kind: 'none' }
  | { kind: 'busy' } // it comes up or goes down, or the session of its dead owner is about to end
  | { kind: 'unowned' }
  | { kind: 'owned'; owner: Owner }
  | { kind: 'ours'; pid: number; lock: OwnerLock; leash: Leash | null }

async function look(place: Place, leashes: readonly (Leash | null)[], unownedMs: number): Promise<Found> {
  const pid = await findPostmaster(place.pgDir)
  if (pid === null) return { kind: 'none' }
  const lock = await connectOwner(place.socketDir)
  if (lock === null) return { kind: 'busy' }
  try {
    const leash = await findLeash(pid, leashes)
    // One we did not start is ours only after its starter had every chance to lock it.
    const mayLock = leash !== null || unownedMs >= ownerlessMs
    if (mayLock && (await takeOwnership(lock))) return { kind: 'ours', pid, lock, leash }
    const owner = await findOwner(lock)
    await lock.client.end()
    if (owner === null) return { kind: 'unowned' }
    return isAlive(owner.pid) && owner.pid !== process.pid ? { kind: 'owned', owner } : { kind: 'busy' }
  } catch {
    await lock.client.end().catch(() => {})
    return { kind: 'busy' } // it went down between two statements
  }
}

async function findLeash(pid: number, leashes: readonly (Leash | null)[]): Promise<Leash | null> {
  for (const leash of leashes) if (leash !== null && (await isOnLeash(pid, leash))) return leash
  return null
}

interface Started {
  leash: Leash
  ended: boolean
  /** Where in the log this start begins. */
  logOffset: number
}

async function start(place: Place): Promise<Started> {
  await removeStaleLocks(place.pgDir)
  const { leash, logOffset } = await startPostgres(place)
  const started: Started = { leash, ended: false, logOffset }
  leash.ended.finally(() => {
    started.ended = true
  })
  return started
}

// What a start meets when the previous PostgreSQL was killed a moment ago, or another start came between.
const passing = /lock file .* already exists|pre-existing shared memory block/

async function refuseUnlessPassing(place: Place, failed: Started, elapsedMs: number): Promise<void> {
  const quote = await quoteLog(place, failed)
  if (elapsedMs > passingMsMax || !passing.test(quote))
    throw new OperatingError(`PostgreSQL did not start. ${quote}`)
}

async function quoteLog(place: Place, started: Started | null): Promise<string> {
  const log = await readFile(place.logFile).catch(() => Buffer.alloc(0))
  const lines = log
    .subarray(started?.logOffset ?? 0)
    .toString()
    .trimEnd()
    .split('\n')
  return `The end of its log, ${place.logFile}:\n${lines.slice(-10).join('\n')}`
}
