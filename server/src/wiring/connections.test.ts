import assert from 'node:assert/strict'
import test from 'node:test'
import pg from 'pg'
import { cleanUp } from '../../test/cleanup.ts'
import { makeDataDir } from '../../test/data-dir.ts'
import { EmbeddedPostgres } from '../embedded-postgres/embedded-postgres.ts'
import { embeddedDatabase } from '../embedded-postgres/hold-postgres.ts'
import { realTimers } from '../lib/time/timers.ts'
import { addressOf } from '../postgres/connection/database.ts'
import { connectionsNeeded, connectionsWanted } from './connections.ts'

test('an embedded PostgreSQL has a connection for every place in every pool of a start', () => {
  assert.equal(connectionsNeeded({ processes: 1, databaseConnections: 16 }), 100)
  assert.equal(connectionsNeeded({ processes: 8, databaseConnections: 16 }), 212)
  assert.equal(connectionsNeeded({ processes: 2, databaseConnections: 500 }), 1_036)
})

test('all pools of eight processes open at once on an embedded PostgreSQL, as the role of the program', async (t) => {
  const needs = { processes: 8, databaseConnections: 16 }
  const dataDir = await makeDataDir(t)
  const deps = { clock: { monotonicMs: () => performance.now() }, timers: realTimers }
  const settings = { max_connections: String(connectionsNeeded(needs)) }
  const embedded = await EmbeddedPostgres.open(deps, { dataDir, settings })
  cleanUp(t, () => embedded.stop(5_000))
  const address = addressOf({ socketDir: embedded.socketDir, database: embeddedDatabase })
  const clients = Array.from({ length: connectionsWanted(needs) }, () => new pg.Client(address))
  // Not a pool: its end does not wait for its connections, and the stop of PostgreSQL is an error on each open one.
  cleanUp(t, () => Promise.all(clients.map((client) => client.end())))
  const opened = await Promise.allSettled(clients.map((client) => client.connect()))
  const refused = opened.filter((one) => one.status === 'rejected').map(({ reason }) => String(reason))
  assert.deepEqual(refused, [])
})
