// The role and the database of the program, made by the superuser. The database of an earlier version, in which everything
// belongs to the superuser, gets the role as its owner: objects first, a few at a time, the database last, so that a start
// after a crash goes on.
import pg from 'pg'
import { programRole } from '../lib/program-role.ts'
import { sql } from '../lib/sql.ts'
import { databaseHandedOver } from '../telemetry/events.ts'
import { superuser } from './authentication.ts'
import type { OwnerLock } from './owner-lock.ts'

/** Each needs a lock until its transaction ends, and PostgreSQL has room for some thousands. */
const objectsMax = 50
const statementMsMax = 60_000

const findRole = sql('findProgramRole')`SELECT 1 FROM pg_roles WHERE rolname = $1`
const findDatabase = sql('findDatabase')`
  SELECT pg_get_userbyid(datdba) AS owner FROM pg_database WHERE datname = $1`
/** Tables with their indexes and sequences, and functions. Extensions keep theirs. */
const selectObjects = sql('selectObjectsOfSuperuser')`
  SELECT o.name FROM (
    SELECT format('TABLE %s', c.oid::regclass) AS name, c.tableoid AS kind, c.oid
    FROM pg_class c
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND c.relowner = $1::regrole
    UNION ALL
    SELECT format('ROUTINE %s', p.oid::regprocedure), p.tableoid, p.oid
    FROM pg_proc p
    WHERE p.pronamespace = 'public'::regnamespace AND p.proowner = $1::regrole
  ) o
  WHERE NOT EXISTS (
    SELECT FROM pg_depend d WHERE d.classid = o.kind AND d.objid = o.oid AND d.deptype = 'e'
  )
  LIMIT $2`

const ident = pg.escapeIdentifier

export async function prepareProgram(lock: OwnerLock, socketDir: string, database: string): Promise<void> {
  const { client } = lock
  const { rowCount: roles } = await client.query(findRole.text, [programRole])
  // One transaction. It makes roles of fewer rights, and sees the transactions of all sessions: folding waits for them.
  if (roles === 0) {
    await client.query(
      `CREATE ROLE ${ident(programRole)} LOGIN NOSUPERUSER CREATEROLE; GRANT pg_read_all_stats TO ${ident(programRole)}`,
    )
  }
  const { rows } = await client.query<{ owner: string }>(findDatabase.text, [database])
  const owner = rows[0]?.owner
  if (owner === undefined) {
    await client.query(`CREATE DATABASE ${ident(database)} OWNER ${ident(programRole)}`)
  } else if (owner === superuser) {
    const objects = await handOverObjects(socketDir, database)
    await client.query(`ALTER DATABASE ${ident(database)} OWNER TO ${ident(programRole)}`)
    databaseHandedOver.emit({ database, role: programRole, objects })
  }
}

async function handOverObjects(socketDir: string, database: string): Promise<number> {
  const client = new pg.Client({
    host: socketDir,
    user: superuser,
    database,
    application_name: 'carillon hand over',
    connectionTimeoutMillis: 5_000,
    query_timeout: statementMsMax,
  })
  client.on('error', () => {}) // the running statement fails with it
  await client.connect()
  try {
    let objects = 0
    while (true) {
      const { rows } = await client.query<{ name: string }>(selectObjects.text, [superuser, objectsMax])
      if (rows.length === 0) return objects
      // Sent together they are one transaction.
      await client.query(rows.map(({ name }) => `ALTER ${name} OWNER TO ${ident(programRole)}`).join(';\n'))
      objects += rows.length
    }
  } finally {
    await client.end().catch(() => {})
  }
}
