// The PostgreSQL of a run: the embedded binaries with a port on loopback and a password, everything durable. Nobody but
// the run starts it again after a kill. Ourselves we connect through its socket, past every proxy and limit.
import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, readlink, realpath, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import pg from 'pg'
import { type Binaries, embeddedPackageName, prepareBinaries } from '../../src/embedded-postgres/binaries.ts'
import { ensureInitialised } from '../../src/embedded-postgres/data-directory.ts'
import { isAlive, type Leash, sendSignal } from '../../src/embedded-postgres/leash.ts'
import {
  findPostmaster,
  removeStaleLocks,
  startPostgres,
  stopPostgres,
} from '../../src/embedded-postgres/postmaster.ts'
import { chooseUser, type SystemUser } from '../../src/embedded-postgres/system-user.ts'
import { realTimers } from '../../src/lib/time/timers.ts'

export const databaseName = 'carillon'
/** Whom the servers connect as. */
export const roleName = 'carillon'
const startMsMax = 60_000
const stopMsMax = 10_000

export class ChaosPostgres implements AsyncDisposable {
  readonly port: number
  readonly password = randomBytes(16).toString('hex')
  readonly #pgDir: string
  readonly #logFile: string
  readonly #user: SystemUser | null
  readonly #binaries: Binaries
  #leash: Leash | null = null
  #isPrepared = false

  /** `dataDir`: where its data goes; `dir`: where its log does. */
  static async open(dir: string, dataDir: string): Promise<ChaosPostgres> {
    const pgDir = join(dataDir, 'pg')
    await mkdir(dataDir, { recursive: true })
    const user = await chooseUser(pgDir)
    const binaries = await prepareBinaries(embeddedPackageName(), user, dir)
    await ensureInitialised(pgDir, user, binaries)
    // Written over, it keeps its owner. The socket is in a directory that only we can enter.
    await writeFile(
      join(pgDir, 'pg_hba.conf'),
      'local all postgres trust\nhost all all 127.0.0.1/32 scram-sha-256\n',
    )
    const postgres = new ChaosPostgres(dir, pgDir, user, binaries, await freePort())
    await postgres.start()
    await postgres.#prepare()
    return postgres
  }

  private constructor(dir: string, pgDir: string, user: SystemUser | null, binaries: Binaries, port: number) {
    this.#pgDir = pgDir
    this.#logFile = join(dir, 'postgres.log')
    this.#user = user
    this.#binaries = binaries
    this.port = port
  }

  /** Waits until it accepts connections again, regardless of leftovers from the previous process. */
  async start(): Promise<void> {
    const startedMs = performance.now()
    while (!(await this.answers())) {
      if (performance.now() - startedMs > startMsMax) {
        const log = await readFile(this.#logFile, 'utf8')
        throw new Error(`PostgreSQL did not start within a minute:\n${log.slice(-2_000)}`)
      }
      if ((await this.postmaster()) === null) await this.#launch()
      await realTimers.wait(50)
    }
  }

  async answers(): Promise<boolean> {
    try {
      await this.query('SELECT 1')
      return true
    } catch {
      return false
    }
  }

  /** On a connection of its own, as its superuser. */
  async query<R extends object>(text: string, values: unknown[] = []): Promise<R[]> {
    const client = await this.connect()
    try {
      return (await client.query<R>(text, values)).rows
    } finally {
      await client.end().catch(() => {})
    }
  }

  async connect(): Promise<pg.Client> {
    const client = new pg.Client({
      host: this.#pgDir,
      port: this.port,
      user: 'postgres',
      database: this.#isPrepared ? databaseName : 'postgres',
      connectionTimeoutMillis: 3_000,
      query_timeout: 10_000,
    })
    client.on('error', () => {})
    await client.connect()
    return client
  }

  /** For programs that are given an address. */
  get url(): string {
    return `postgres://postgres@${encodeURIComponent(this.#pgDir)}:${this.port}/${databaseName}`
  }

  postmaster(): Promise<number | null> {
    return findPostmaster(this.#pgDir)
  }

  /** kill -9 of the postmaster; its children go by themselves when they notice. */
  async kill(): Promise<void> {
    const pid = await this.postmaster()
    if (pid !== null) sendSignal(pid, 'SIGKILL')
    while (pid !== null && isAlive(pid)) await realTimers.wait(10)
  }

  /** The sessions of our servers. */
  async backends(): Promise<number[]> {
    const rows = await this.query<{ pid: number }>(
      'SELECT pid FROM pg_stat_activity WHERE usename = $1 ORDER BY pid',
      [roleName],
    )
    return rows.map(({ pid }) => pid)
  }

  /** Limits the sessions of our servers; null: no limit. Existing sessions stay. */
  async limitSessions(limit: number | null): Promise<void> {
    await this.query(`ALTER ROLE ${roleName} CONNECTION LIMIT ${limit ?? -1}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await stopPostgres(this.#pgDir, realTimers, stopMsMax)
    await this.#killLeftovers()
    this.#leash?.release()
    await this.#leash?.ended
  }

  async #launch(): Promise<void> {
    this.#leash?.release()
    await this.#leash?.ended
    await removeStaleLocks(this.#pgDir)
    const { leash } = await startPostgres({
      pgDir: this.#pgDir,
      logFile: this.#logFile,
      user: this.#user,
      binaries: this.#binaries,
      settings: {
        listen_addresses: '127.0.0.1',
        port: String(this.port),
        unix_socket_directories: '.',
        unix_socket_permissions: '0700',
        cluster_name: 'carillon-chaos',
        timezone: 'UTC',
        fsync: 'on',
        synchronous_commit: 'on',
        full_page_writes: 'on',
        track_commit_timestamp: 'on',
        max_connections: '250',
        shared_buffers: '128MB',
        min_wal_size: '32MB',
        max_wal_size: '512MB',
        log_min_messages: 'log',
        log_checkpoints: 'off',
        log_min_error_statement: 'panic',
        jit: 'off',
      },
    })
    this.#leash = leash
  }

  async #prepare(): Promise<void> {
    await this.query(`CREATE ROLE ${roleName} LOGIN PASSWORD '${this.password}'`)
    await this.query(`CREATE DATABASE ${databaseName} OWNER ${roleName}`)
    this.#isPrepared = true
  }

  // A backend that we had stopped outlives its postmaster.
  async #killLeftovers(): Promise<void> {
    if (process.platform !== 'linux') return
    for (const name of await readdir('/proc')) {
      const pid = Number(name)
      if (!(pid > 0)) continue
      const command = await readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => '')
      if (command.startsWith('postgres: carillon-chaos: ') && (await runsIn(pid, this.#pgDir)))
        sendSignal(pid, 'SIGKILL')
    }
  }
}

async function runsIn(pid: number, dir: string): Promise<boolean> {
  return (await readlink(`/proc/${pid}/cwd`).catch(() => '')) === (await realpath(dir))
}

export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
