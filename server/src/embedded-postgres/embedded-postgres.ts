// PostgreSQL as part of our own process tree: opened with us, supervised while we run, stopped with us. Only one
// Carillon uses a data directory at a time; a second one is told which process does, and harms nothing.
import { join } from 'node:path'
import { makeDirectory } from '../lib/make-directory.ts'
import { OperatingError } from '../lib/operating-error.ts'
import { postgresLost } from '../telemetry/events.ts'
import { embeddedPackageName, prepareBinaries } from './binaries.ts'
import { ensureInitialised } from './data-directory.ts'
import { closeLock, type EmbeddedDeps, type Held, holdPostgres, type Place } from './hold-postgres.ts'
import { boundLog } from './log-file.ts'
import { announceUrl } from './owner-lock.ts'
import { reachSocketDir, stopPostgres } from './postmaster.ts'
import { chooseUser } from './system-user.ts'

export interface EmbeddedOptions {
  dataDir: string
  /** Settings of PostgreSQL that differ from ours. */
  settings?: Readonly<Record<string, string>>
  /** The npm package with the binaries. Default: PostgreSQL 18 for this platform. */
  packageName?: string
  /** Ends the wait for a PostgreSQL that takes long to come up. */
  signal?: AbortSignal
  /** How often the size of the log is looked at. Default: a minute. */
  logLookMs?: number
}

const settingsOfOurs: Readonly<Record<string, string>> = {
  listen_addresses: '',
  // Relative to the data directory: only its owner and root can reach the socket. Both are asked for their name all the
  // same, because /proc leads there too (authentication.ts).
  unix_socket_directories: '.',
  unix_socket_permissions: '0700',
  cluster_name: 'carillon',
  timezone: 'UTC',
  log_timezone: 'UTC',
  // Failed statements are reported by their senders; the log is for the server itself.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_checkpoints: 'off',
  shared_buffers: '256MB',
  max_wal_size: '2GB',
  max_connections: '100',
  jit: 'off',
}

const restartsMax = 5
const restartsWithinMs = 60_000

export class EmbeddedPostgres implements AsyncDisposable {
  /** Where `pg` finds it: the directory of its socket. */
  readonly socketDir: string
  /** Rejects when PostgreSQL is gone and could not be brought back; pending otherwise. */
  readonly failed: Promise<never>
  readonly #deps: EmbeddedDeps
  readonly #place: Place
  readonly #fail: (error: unknown) => void
  readonly #supervising: Promise<void>
  readonly #bounding: Promise<void>
  #held: Held
  #url = ''
  readonly #stopping = new AbortController()
  #owned = true
  #restartedAtMs: number[] = []

  static async open(deps: EmbeddedDeps, options: EmbeddedOptions): Promise<EmbeddedPostgres> {
    const place = await findPlace(options)
    const held = await holdPostgres(deps, place, null, options.signal)
    return new EmbeddedPostgres(deps, place, held, options.logLookMs ?? 60_000)
  }

  private constructor(deps: EmbeddedDeps, place: Place, held: Held, logLookMs: number) {
    this.#deps = deps
    this.#place = place
    this.#held = held
    this.socketDir = place.socketDir
    const { promise, reject } = Promise.withResolvers<never>()
    this.failed = promise
    this.failed.catch(() => {}) // the first listener may come later than the failure
    this.#fail = reject
    this.#supervising = this.#supervise()
    this.#bounding = this.#boundLog(logLookMs)
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
    await this.#bounding
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
        this.#held = await holdPostgres(this.#deps, this.#place, this.#held.leash, signal)
        this.#owned = true
        if (this.#url !== '') await announceUrl(this.#held.lock, this.#url)
      }
    } catch (error) {
      if (!signal.aborted) this.#fail(error)
    }
  }

  async #boundLog(everyMs: number): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      // A file that cannot be read or emptied now can be later.
      await boundLog(this.#place.logFile).catch(() => {})
      await this.#deps.timers.wait(everyMs, signal)
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
