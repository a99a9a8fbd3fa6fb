// A PostgreSQL of a test's own on a loopback port, to be stopped, killed and started again.
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import pg from 'pg'
import { type Binaries, embeddedPackageName, prepareBinaries } from '../../src/embedded-postgres/binaries.ts'
import { isAlive, type Leash } from '../../src/embedded-postgres/leash.ts'
import { findPostmaster, startPostgres, stopPostgres } from '../../src/embedded-postgres/postmaster.ts'
import { chooseUser, type SystemUser } from '../../src/embedded-postgres/system-user.ts'
import { programRole } from '../../src/lib/program-role.ts'
import { realTimers } from '../../src/lib/time/timers.ts'
import { cleanUp } from '../cleanup.ts'
import { makeDataDir } from '../data-dir.ts'
import { until } from '../e2e/api.ts'
import { watchFlags } from '../races/invariants.ts'

export const databaseName = 'carillon'

export interface PostgresPlace {
  pgDir: string
  logFile: string
  user: SystemUser | null
  binaries: Binaries
}

const settingsOfAll = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '.',
  timezone: 'UTC',
  shared_buffers: '64MB',
  jit: 'off',
  // The tests kill processes, never the machine.
  fsync: 'off',
}

/** Running, with our schema. */
export async function startOwnPostgres(t: TestContext): Promise<OwnPostgres> {
  const dataDir = await makeDataDir(t)
  const dir = dirname(dataDir)
  const pgDir = join(dataDir, 'pg')
  const user = await chooseUser(pgDir)
  const binaries = await prepareBinaries(embeddedPackageName(), user, dir)
  const logFile = join(dir, 'postgres.log')
  // Written over, it keeps its owner.
  const trusted = ['all', 'replication'].map((database) => `host ${database} all 127.0.0.1/32 trust\n`)
  await writeFile(join(pgDir, 'pg_hba.conf'), trusted.join(''))
  const postgres = new OwnPostgres({ pgDir, logFile, user, binaries }, await findFreePort())
  cleanUp(t, () => postgres.stop())
  await postgres.start()
  await watchFlags(await postgres.connect(t))
  return postgres
}

export class OwnPostgres {
  readonly place: PostgresPlace
  readonly port: number
  readonly #settings: Readonly<Record<string, string>>
  #leash: Leash | null = null

  constructor(place: PostgresPlace, port: number, settings: Readonly<Record<string, string>> = {}) {
    this.place = place
    this.port = port
    this.#settings = settings
  }

  get target(): { host: string; port: number } {
    return { host: '127.0.0.1', port: this.port }
  }

  /** For programs. */
  get url(): string {
    return this.#urlOf(programRole, databaseName)
  }

  #urlOf(user: string, database: string): string {
    return `postgres://${user}@127.0.0.1:${this.port}/${database}`
  }

  /** Leftovers of a killed server may keep the next one from starting for a moment. */
  async start(): Promise<void> {
    const settings = { ...settingsOfAll, port: String(this.port), ...this.#settings }
    let ended = true
    await until(async () => {
      if (ended) {
        const { leash } = await startPostgres({ ...this.place, settings })
        this.#leash = leash
        ended = false
        void leash.ended.then(() => (ended = true))
      }
      return this.run('postgres', 'SELECT 1').then(
        () => true,
        () => null,
      )
    }, 'PostgreSQL answers').catch(async (cause) => {
      throw new Error(await readFile(this.place.logFile, 'utf8'), { cause })
    })
  }

  async postmaster(): Promise<number> {
    const pid = await findPostmaster(this.place.pgDir)
    assert(pid !== null, 'no PostgreSQL runs')
    return pid
  }

  /** As the machine's power switch does. */
  async kill(): Promise<void> {
    const pid = await this.postmaster()
    process.kill(pid, 'SIGKILL')
    await until(() => (isAlive(pid) ? null : true), 'the postmaster is gone')
  }

  /** As an operator does: sessions are ended. */
  async stop(): Promise<void> {
    await stopPostgres(this.place.pgDir, realTimers, 10_000)
    this.#leash?.release()
    await this.#leash?.ended
  }

  async run(database: string, statement: string): Promise<void> {
    const client = new pg.Client({ connectionString: this.#urlOf('postgres', database) })
    client.on('error', () => {})
    await client.connect()
    try {
      await client.query(statement)
    } finally {
      await client.end()
    }
  }

  /** A session of the superuser to look with. */
  async connect(t: TestContext): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: this.#urlOf('postgres', databaseName) })
    client.on('error', () => {})
    await client.connect()
    cleanUp(t, () => client.end())
    return client
  }
}

export async function findFreePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
