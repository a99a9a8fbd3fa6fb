// Server processes of single roles on one PostgreSQL, as on several machines: each with a data directory of its own, all
// with one key.
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type pg from 'pg'
import { makeEmptyDataDir } from '../data-dir.ts'
import { connect, createDatabase } from '../database.ts'
import { type Api, callApi, until } from '../e2e/api.ts'
import { launcher, Program } from '../e2e/program.ts'

export const fleetKey = 'crl_one_key_for_all_of_the_fleet_0123'

/** Each start of a process takes a while on a machine that is busy with other tests. */
export const withTime = { timeout: 300_000 }

export interface LaunchOptions {
  env?: Record<string, string>
  handlers?: string
  /** Runs the program: it is given the command as arguments. */
  wrapper?: readonly string[]
}

export interface Fleet {
  /** Returns once it is ready. */
  start(roles: string, options?: LaunchOptions): Promise<Process>
  /** Returns at once, for a start that may fail. */
  launch(roles: string, options?: LaunchOptions): Promise<Program>
  /** A session beside all of them. */
  client: pg.Client
}

export class Process {
  readonly program: Program
  /** Null without the api role. */
  readonly url: string | null

  /** Where it answers probes; null: at the URL of the API, or nowhere. */
  readonly probesUrl: string | null

  constructor(program: Program, url: string | null) {
    this.program = program
    this.url = url
    this.probesUrl = /Probes\s+(http:.*?)\/livez/.exec(program.stdout)?.[1] ?? null
  }

  get api(): Api {
    assert(this.url !== null)
    return callApi(this.url, fleetKey)
  }

  signal(name: NodeJS.Signals): void {
    assert(this.program.child.kill(name), 'it is there to be told')
  }

  /** Asked to stop; it must end by itself, and well. */
  async stop(): Promise<void> {
    this.signal('SIGTERM')
    assert.equal(await this.program.exit, 0, this.program.said())
  }

  /** The lines of its log that are about this event. */
  events(name: string): Record<string, unknown>[] {
    return this.program.stderr
      .split('\n')
      .filter((line) => line.includes(`"event":"${name}"`))
      .map((line) => JSON.parse(line) as Record<string, unknown>)
  }
}

export async function createFleet(t: TestContext): Promise<Fleet> {
  const address = await createDatabase(t)
  const { socketDir, database } = address
  const databaseUrl = `postgres://carillon@localhost/${database}?host=${encodeURIComponent(socketDir)}`
  const client = await connect(t, address)
  return {
    client,
    launch,
    async start(roles, options) {
      const program = await launch(roles, options)
      if (roles.includes('api')) return new Process(program, await program.ready())
      await program.says(/is ready\.[\s\S]*Ctrl-C/)
      return new Process(program, null)
    },
  }

  async function launch(
    roles: string,
    { env = {}, handlers, wrapper = [] }: LaunchOptions = {},
  ): Promise<Program> {
    return new Program(t, {
      command: [...wrapper, process.execPath, launcher, 'start'],
      dataDir: await makeEmptyDataDir(t),
      env: {
        CARILLON_DATABASE_URL: databaseUrl,
        CARILLON_API_KEY: fleetKey,
        CARILLON_ROLES: roles,
        CARILLON_PROCESSES: '1',
        CARILLON_LOG_LEVEL: 'debug',
        ...env,
      },
      ...(handlers !== undefined && { arguments: ['--handlers', handlers] }),
    })
  }
}

export interface Holding {
  scheduler_id: string
  partitions: number
}

/** Waits until so many schedulers hold all partitions between them. */
export function untilHeldBy({ client }: Fleet, schedulers: number): Promise<Holding[]> {
  return until(async () => {
    const { rows } = await client.query<Holding>(`
      SELECT s.scheduler_id, count(p.partition_id)::int AS partitions
      FROM schedulers s LEFT JOIN partitions p USING (scheduler_id) GROUP BY 1`)
    const held = rows.reduce((sum, { partitions }) => sum + partitions, 0)
    return rows.length === schedulers && held === 64 && rows.every(isFair) ? rows : null
    function isFair({ partitions }: Holding): boolean {
      return partitions === Math.floor(64 / schedulers) || partitions === Math.ceil(64 / schedulers)
    }
  }, `64 partitions are shared by ${schedulers}`)
}
