// A database of its own for every test that asks, copied from the migrated template in well under 100 ms.
import { randomUUID } from 'node:crypto'
import type { TestContext } from 'node:test'
import pg from 'pg'
import { embeddedPackageName } from '../src/embedded-postgres/binaries.ts'
import { programRole } from '../src/lib/program-role.ts'
import { realRandom } from '../src/lib/random.ts'
import { realTimers } from '../src/lib/time/timers.ts'
import { Database, type DatabaseAddress, type DatabaseOptions } from '../src/postgres/connection/database.ts'
import { cleanUp } from './cleanup.ts'

export type PostgresVersion = 15 | 18

const chosen = process.env['CARILLON_TEST_POSTGRES']?.split(',').map(Number)

/** The versions of this run: both, unless the environment names one (`npm test`: 18, `npm run test:rest`: 15). */
export const POSTGRES_VERSIONS = ([15, 18] as const).filter((version) => chosen?.includes(version) ?? true)

export const templateName = 'carillon_template'

export function packageOf(version: PostgresVersion): string {
  return version === 18 ? embeddedPackageName() : `postgres-15-${process.platform}-${process.arch}`
}

export function socketDirVariable(version: PostgresVersion): string {
  return `TEST_POSTGRES_${version}_SOCKET_DIR`
}

export interface DatabaseChoice {
  version?: PostgresVersion
  /** 'empty': without our schema. */
  template?: 'migrated' | 'empty'
}

export async function createDatabase(t: TestContext, choice: DatabaseChoice = {}): Promise<TestAddress> {
  const { address, drop } = await makeDatabase(choice)
  cleanUp(t, drop)
  return address
}

export async function makeDatabase(choice: DatabaseChoice) {
  const { version = 18, template = 'migrated' } = choice
  const socketDir = process.env[socketDirVariable(version)]
  if (socketDir === undefined) throw new Error('run tests with: npm test -- FILE')
  const database = `test_${randomUUID().replaceAll('-', '')}`
  const from = template === 'migrated' ? templateName : 'template0'
  await administer(
    socketDir,
    `CREATE DATABASE ${database} OWNER ${programRole} TEMPLATE ${from} STRATEGY FILE_COPY`,
  )
  const drop = () => administer(socketDir, `DROP DATABASE ${database} WITH (FORCE)`)
  return { address: { socketDir, database }, drop }
}

export type TestAddress = Extract<DatabaseAddress, { socketDir: string }>

/** A pool on a new database. */
export async function useDatabase(t: TestContext, choice: DatabaseChoice = {}) {
  const address = await createDatabase(t, choice)
  const database = openDatabase(t, address)
  return { address, database, client: await connect(t, address) }
}

export function openDatabase(
  t: TestContext,
  address: DatabaseAddress,
  options: Pick<DatabaseOptions, 'statementMs' | 'actsAs'> = {},
): Database {
  const deps = { timers: realTimers, random: realRandom }
  const database = new Database(deps, { name: 'test', address, connectionsMax: 4, ...options })
  cleanUp(t, () => database[Symbol.asyncDispose]())
  return database
}

/** A session of the superuser beside the pool: to look, to lock, to kill. */
export async function connect(t: TestContext, address: TestAddress): Promise<pg.Client> {
  const client = await openClient(address)
  cleanUp(t, () => client.end())
  return client
}

export async function openClient({ socketDir, database }: TestAddress, name = ''): Promise<pg.Client> {
  const client = new pg.Client({ host: socketDir, user: 'postgres', database, application_name: name })
  client.on('error', () => {})
  await client.connect()
  return client
}

async function administer(socketDir: string, statement: string): Promise<void> {
  const client = new pg.Client({ host: socketDir, user: 'postgres', database: 'postgres' })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
