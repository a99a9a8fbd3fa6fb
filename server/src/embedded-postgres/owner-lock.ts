// Which process runs this data directory? The holder of an advisory lock; its connection carries its process id and
// address as its name. The lock ends with the connection, so it needs no clean-up after a crash.
import pg from 'pg'
import { OperatingError } from '../lib/operating-error.ts'
import { sql } from '../lib/sql.ts'
import { superuser } from './authentication.ts'

const tryLock = sql('tryOwnerLock')`SELECT pg_try_advisory_lock(7420, 1) AS locked`
const selectOwner = sql('selectOwner')`
  SELECT a.application_name AS name FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
  WHERE l.locktype = 'advisory' AND l.classid = 7420 AND l.objid = 1 AND l.granted`
const renameSession = sql('renameOwnerSession')`SELECT set_config('application_name', $1, false)`
const readVersion = sql('readVersion')`SELECT current_setting('server_version') AS version`

/** The code of an unknown user: see authentication.ts. */
const refused = '28000'

export interface Owner {
  pid: number
  /** Empty until the owner listens. */
  url: string
}

export interface OwnerLock {
  client: pg.Client
  version: string
  /** Resolves when the connection, and with it the lock, is gone. */
  lost: Promise<void>
}

/** Null: PostgreSQL does not accept connections (yet, or any more). */
export async function connectOwner(socketDir: string): Promise<OwnerLock | null> {
  const client = new pg.Client({
    host: socketDir,
    user: superuser,
    database: 'postgres',
    application_name: nameOf({ pid: process.pid, url: '' }),
    connectionTimeoutMillis: 5_000,
    // Making the database copies files; everything else answers at once or hangs.
    query_timeout: 60_000,
    keepAlive: true,
  })
  client.on('error', () => {}) // followed by `end`, the event we act on
  const lost = new Promise<void>((resolve) => client.once('end', resolve))
  try {
    await client.connect()
    const version = (await client.query<{ version: string }>(readVersion.text)).rows[0]!.version
    return { client, version, lost }
  } catch (cause) {
    await client.end().catch(() => {})
    if ((cause as { code?: string }).code === refused) {
      throw new OperatingError(
        'The PostgreSQL of this data directory was started by another user. Stop it first, or start as that user.',
        { cause },
      )
    }
    return null
  }
}

export async function takeOwnership({ client }: OwnerLock): Promise<boolean> {
  const { rows } = await client.query<{ locked: boolean }>(tryLock.text)
  return rows[0]!.locked
}

export async function findOwner({ client }: OwnerLock): Promise<Owner | null> {
  const { rows } = await client.query<{ name: string }>(selectOwner.text)
  return rows[0] === undefined ? null : ownerOf(rows[0].name)
}

export async function announceUrl({ client }: OwnerLock, url: string): Promise<void> {
  await client.query(renameSession.text, [nameOf({ pid: process.pid, url })])
}

// PostgreSQL keeps 63 bytes of a name: enough for both.
function nameOf({ pid, url }: Owner): string {
  return `carillon ${pid} ${url}`.trim()
}

function ownerOf(name: string): Owner {
  const [, pid = '0', url = ''] = name.split(' ')
  return { pid: Number(pid), url }
}
