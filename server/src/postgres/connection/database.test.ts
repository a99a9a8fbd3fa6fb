import assert from 'node:assert/strict'
import test from 'node:test'
import { openDatabase, POSTGRES_VERSIONS, useDatabase } from '../../../test/database.ts'
import { sql } from '../../lib/sql.ts'
import { Unavailable } from '../../lib/unavailable.ts'
import { within } from './database.ts'

const selectPid = sql('selectPid')`SELECT pg_backend_pid() AS pid`
const sleep = sql('sleep')`SELECT pg_sleep($1)`
const selectIdleLimit = sql('selectIdleLimit')`
  SELECT current_setting('idle_in_transaction_session_timeout') AS limit`
const insertOne = sql('insertOne')`INSERT INTO one VALUES ($1)`
const selectOne = sql('selectOne')`SELECT n FROM one ORDER BY n`
const bump = sql('bump')`UPDATE one SET n = n + 100 WHERE n % 100 = $1`
const pidAfter = sql('pidAfter')`SELECT pg_backend_pid() AS pid FROM pg_sleep($1)`
const setReadOnly = sql('setReadOnly')`SET LOCAL transaction_read_only = on`
const selectAll = sql('selectAll')`SELECT * FROM one`
const die = sql('die')`SELECT die()`
const deallocate = sql('deallocate')`DEALLOCATE ALL`
const types = sql(
  'types',
)`SELECT '2026-11-15T21:14:42.123456Z'::timestamptz AS at, 9007199254740991::bigint AS big`

for (const version of POSTGRES_VERSIONS) {
  test(`PostgreSQL ${version}: instants come as EpochMs and bigints as numbers`, async (t) => {
    const { database } = await useDatabase(t, { version })
    const { rows } = await database.query(types, [])
    assert.deepEqual(rows, [{ at: Date.UTC(2026, 10, 15, 21, 14, 42, 123), big: Number.MAX_SAFE_INTEGER }])
  })
}

test('a failed statement keeps its connection', async (t) => {
  const { database, client } = await useDatabase(t)
  await client.query('CREATE TABLE one (n int PRIMARY KEY)')
  await database.query(insertOne, [1])
  const { rows: before } = await database.query(selectPid, [])
  await assert.rejects(database.query(insertOne, [1]), { code: '23505' })
  assert.deepEqual((await database.query(selectPid, [])).rows, before)
})

test('a killed connection is Unavailable once, replaced, and harms no process', async (t) => {
  const { database, client } = await useDatabase(t)
  const { rows } = await database.query<{ pid: number }>(selectPid, [])
  const running = assert.rejects(database.query(sleep, [30]), Unavailable)
  await client.query('SELECT pg_terminate_backend($1)', [rows[0]!.pid])
  await running
  const { rows: after } = await database.query<{ pid: number }>(selectPid, [])
  assert.notEqual(after[0]!.pid, rows[0]!.pid)
})

test('an idle connection that is killed is replaced without anybody noticing', async (t) => {
  const { database, client } = await useDatabase(t)
  const { rows } = await database.query<{ pid: number }>(selectPid, [])
  await client.query('SELECT pg_terminate_backend($1)', [rows[0]!.pid])
  // The next query may meet the dead connection before its end has arrived; the one after may not.
  await database.query(selectPid, []).catch((error: unknown) => assert(error instanceof Unavailable))
  assert.equal((await database.query(selectPid, [])).count, 1)
})

test('a statement that takes too long is ended by the server, and the connection kept', async (t) => {
  const { address } = await useDatabase(t)
  const database = openDatabase(t, address, { statementMs: 50 })
  const { rows: before } = await database.query(selectPid, [])
  await assert.rejects(database.query(sleep, [30]), (error: Unavailable) => {
    assert(error instanceof Unavailable)
    return (error.cause as { code: string }).code === '57014'
  })
  assert.deepEqual((await database.query(selectPid, [])).rows, before)
})

test('a backend that hangs is given up by our side, and the pool goes on', async (t) => {
  const { address } = await useDatabase(t)
  const database = openDatabase(t, address, { statementMs: 100 })
  const { rows } = await database.query<{ pid: number }>(selectPid, [])
  process.kill(rows[0]!.pid, 'SIGSTOP')
  try {
    await assert.rejects(database.query(sleep, [0]), Unavailable)
    assert.equal((await database.query(selectPid, [])).count, 1)
  } finally {
    // Not in t.after: a stopped backend would hold up every DROP DATABASE on the server.
    process.kill(rows[0]!.pid, 'SIGCONT')
  }
})

test('nobody listening is Unavailable', async (t) => {
  const database = openDatabase(t, { url: 'postgres://nobody@127.0.0.1:1/none' })
  await assert.rejects(database.query(selectPid, []), Unavailable)
})

test('a transaction commits as a whole or not at all', async (t) => {
  const { database, client } = await useDatabase(t)
  await client.query('CREATE TABLE one (n int PRIMARY KEY)')
  await database.transaction(async ({ query }) => {
    await query(insertOne, [1])
    await query(insertOne, [2])
  })
  const failing = database.transaction(async ({ query }) => {
    await query(insertOne, [3])
    await query(insertOne, [2])
  })
  await assert.rejects(failing, { code: '23505' })
  assert.deepEqual((await database.query(selectOne, [])).rows, [{ n: 1 }, { n: 2 }])
})

test('a transaction with a swallowed error is not reported as committed', async (t) => {
  const { database, client } = await useDatabase(t)
  await client.query('CREATE TABLE one (n int PRIMARY KEY)')
  const swallowing = database.transaction(async ({ query }) => {
    await query(insertOne, [1])
    await query(insertOne, [1]).catch(() => {})
  })
  await assert.rejects(swallowing, /COMMIT answered ROLLBACK/)
})

test('the last statement of a transaction is committed with it, and nothing may follow', async (t) => {
  const { database, client } = await useDatabase(t)
  await client.query('CREATE TABLE one (n int PRIMARY KEY)')
  await database.transaction(async ({ query }) => {
    assert.equal((await query(insertOne, [1])).count, 1)
    assert.equal((await query(insertOne, [2], 'last')).count, 1)
    assert.deepEqual((await client.query('SELECT n FROM one ORDER BY n')).rows, [{ n: 1 }, { n: 2 }])
  })
  // One that is the first and the last.
  const { rows } = await database.transaction(({ query }) => query(selectOne, [], 'last'))
  assert.deepEqual(rows, [{ n: 1 }, { n: 2 }])
  const going = database.transaction(async ({ query }) => {
    await query(insertOne, [3], 'last')
    await query(insertOne, [4])
  })
  await assert.rejects(going, /insertOne comes after the last one/)
  assert.equal((await database.query(selectOne, [])).count, 3)
})

test('nothing is sent behind the last statement, though it is not answered yet', async (t) => {
  const { database, client } = await useDatabase(t)
  await client.query('CREATE TABLE one (n int PRIMARY KEY)')
  const both = database.transaction(async ({ query }) => {
    const last = query(insertOne, [1], 'last')
    await assert.rejects(query(insertOne, [2]), /insertOne comes after the last one/)
    await last
  })
  await both
  assert.deepEqual((await database.query(selectOne, [])).rows, [{ n: 1 }])
})

test('statements that are sent together each have the full time limit of a single statement', async (t) => {
  const { address } = await useDatabase(t)
  // Given up by our side a second after it: after two seconds.
  const database = openDatabase(t, address, { statementMs: 1_000 })
  const { rows } = await database.query(selectPid, [])
  await database.transaction(({ query }) =>
    Promise.all([0.8, 0.8, 0.8].map((seconds) => query(sleep, [seconds]))),
  )
  assert.deepEqual((await database.query(selectPid, [])).rows, rows)
})

test('of statements that are sent together none is carried out behind one that failed', async (t) => {
  const { database, client } = await useDatabase(t)
  await client.query('CREATE TABLE one (n int PRIMARY KEY)')
  const failing = database.transaction(({ query }) =>
    Promise.all([query(insertOne, [1]), query(insertOne, [1]), query(insertOne, [2], 'last')]),
  )
  await assert.rejects(failing, { code: '23505' })
  assert.equal((await database.query(selectOne, [])).count, 0)
})

test('a connection on which nothing is prepared any more is replaced', async (t) => {
  const { address } = await useDatabase(t)
  const database = openDatabase(t, address)
  await database.query(deallocate, [])
  await assert.rejects(
    database.transaction(({ query }) => query(selectPid, [])),
    Unavailable,
  )
  assert.equal((await database.transaction(({ query }) => query(selectPid, []))).count, 1)
})

test('a last statement that fails commits nothing, alone or after others', async (t) => {
  const { database, client } = await useDatabase(t)
  await client.query('CREATE TABLE one (n int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED)')
  await client.query('INSERT INTO one VALUES (1)')
  // It breaks the rule when it is committed, not before.
  const late = database.transaction(async ({ query }) => {
    await query(insertOne, [2])
    await query(insertOne, [1], 'last')
  })
  await assert.rejects(late, { code: '23505' })
  const wrong = database.transaction(async ({ query }) => {
    await query(insertOne, [2])
    await query(insertOne, ['x'], 'last')
  })
  await assert.rejects(wrong, { code: '22P02' })
  await assert.rejects(
    database.transaction(({ query }) => query(insertOne, ['x'], 'last')),
    { code: '22P02' },
  )
  assert.deepEqual((await database.query(selectOne, [])).rows, [{ n: 1 }])
})

test('the last statement of a part is not the last one of the whole', async (t) => {
  const { database, client } = await useDatabase(t)
  await client.query('CREATE TABLE one (n int PRIMARY KEY)')
  const undone = database.transaction(async (queries) => {
    await within(queries).transaction(({ query }) => query(insertOne, [1], 'last'))
    throw new Error('undone')
  })
  await assert.rejects(undone, /undone/)
  assert.equal((await database.query(selectOne, [])).count, 0)
})

test('a first statement that cannot be prepared leaves no transaction, and may come again', async (t) => {
  const { address, client } = await useDatabase(t)
  const database = openDatabase(t, address)
  const insert = () => database.transaction(({ query }) => query(insertOne, [1]))
  await assert.rejects(insert(), { code: '42P01' })
  await client.query('CREATE TABLE one (n int PRIMARY KEY)')
  await insert()
  assert.deepEqual((await database.query(selectOne, [])).rows, [{ n: 1 }])
})

test('of two transactions that deadlock both commit in the end', async (t) => {
  const { database, client } = await useDatabase(t)
  await client.query('CREATE TABLE one (n int PRIMARY KEY)')
  await client.query('INSERT INTO one VALUES (1), (2)')
  const bothHold = Promise.withResolvers<void>()
  let holding = 0
  const run = (first: number, second: number) =>
    database.transaction(async ({ query }) => {
      await query(bump, [first])
      holding += 1
      if (holding === 2) bothHold.resolve()
      await bothHold.promise
      await query(bump, [second])
    })
  await Promise.all([run(1, 2), run(2, 1)])
  assert.deepEqual((await database.query(selectOne, [])).rows, [{ n: 201 }, { n: 202 }])
})

test('a process that is paused inside a transaction loses its locks after two seconds', async (t) => {
  const { database, client } = await useDatabase(t)
  await client.query('CREATE TABLE one (n int PRIMARY KEY)')
  await client.query('INSERT INTO one VALUES (1)')
  assert.deepEqual((await database.query(selectIdleLimit, [])).rows, [{ limit: '2s' }])
  const locked = Promise.withResolvers<void>()
  const resumed = Promise.withResolvers<void>()
  const paused = database.transaction(async ({ query }) => {
    await query(bump, [1])
    locked.resolve()
    await resumed.promise
    await query(bump, [1])
  })
  const outcome = assert.rejects(paused, Unavailable)
  await locked.promise
  await client.query('UPDATE one SET n = n + 1') // waits for the lock
  resumed.resolve()
  await outcome
  assert.deepEqual((await database.query(selectOne, [])).rows, [{ n: 2 }])
})

test('a server that was made read-only counts as broken, and is not connected to', async (t) => {
  const { address, database, client } = await useDatabase(t)
  await client.query('CREATE TABLE one (n int PRIMARY KEY)')
  // Two connections: only one of them meets the refusal.
  await Promise.all([database.query(sleep, [0.01]), database.query(sleep, [0.01])])
  const { rows } = await database.query<{ pid: number }>(selectPid, [])
  await client.query(`ALTER DATABASE ${address.database} SET default_transaction_read_only = on`)
  await client.query(`SELECT pg_terminate_backend($1)`, [rows[0]!.pid])
  // The other connection is older and takes the writes; a new one does not. The caller of an ended connection gets an
  // error.
  const writes = await Promise.allSettled(Array.from({ length: 8 }, (_, n) => database.query(insertOne, [n])))
  const failures = writes.flatMap((write) => (write.status === 'rejected' ? [write.reason as Error] : []))
  assert.ok(failures.every((error) => error instanceof Unavailable))
  const reasons = failures.map(({ cause }) => (cause as Error).message)
  assert.ok(reasons.includes('the server takes no writes'), reasons.join('; '))
  await client.query(`ALTER DATABASE ${address.database} RESET default_transaction_read_only`)
  assert.equal((await database.query(insertOne, [10])).count, 1)
})

test('once a write is refused because the server is read-only, no connection of before is used again', async (t) => {
  const { database, client } = await useDatabase(t)
  await client.query('CREATE TABLE one (n int PRIMARY KEY)')
  const pids = async () => {
    const both = [
      database.query<{ pid: number }>(pidAfter, [0.05]),
      database.query<{ pid: number }>(pidAfter, [0.05]),
    ]
    return (await Promise.all(both)).map(({ rows }) => rows[0]!.pid)
  }
  const before = await pids()
  assert.equal(new Set(before).size, 2)
  const refused = database.transaction(async ({ query }) => {
    await query(setReadOnly, [])
    await query(insertOne, [1])
  })
  await assert.rejects(refused, (error: Unavailable) => {
    return error instanceof Unavailable && (error.cause as { code: string }).code === '25006'
  })
  assert.deepEqual(
    (await pids()).filter((pid) => before.includes(pid)),
    [],
  )
})

test('one backend that hangs makes us leave the others too: the network may have lost them all', async (t) => {
  const { address } = await useDatabase(t)
  const database = openDatabase(t, address, { statementMs: 100 })
  const both = [
    database.query<{ pid: number }>(pidAfter, [0.05]),
    database.query<{ pid: number }>(pidAfter, [0.05]),
  ]
  const before = (await Promise.all(both)).map(({ rows }) => rows[0]!.pid)
  const { rows } = await database.query<{ pid: number }>(selectPid, [])
  process.kill(rows[0]!.pid, 'SIGSTOP')
  try {
    await assert.rejects(database.query(sleep, [0]), Unavailable)
    const { rows: after } = await database.query<{ pid: number }>(selectPid, [])
    assert(!before.includes(after[0]!.pid))
  } finally {
    process.kill(rows[0]!.pid, 'SIGCONT')
  }
})

test('a table that a newer version has changed costs a connection, not the statement for ever', async (t) => {
  const { database, client } = await useDatabase(t)
  await client.query('CREATE TABLE one (n int PRIMARY KEY)')
  await database.query(insertOne, [1])
  await database.query(selectAll, [])
  await client.query('ALTER TABLE one ADD COLUMN more int')
  await assert.rejects(database.query(selectAll, []), Unavailable)
  assert.deepEqual((await database.query(selectAll, [])).rows, [{ n: 1, more: null }])
})

test('any end of a session costs only its connection', async (t) => {
  const { database, client } = await useDatabase(t)
  await client.query(`CREATE FUNCTION die() RETURNS void LANGUAGE plpgsql AS $$ BEGIN
    SET LOCAL transaction_timeout = '10ms'; PERFORM pg_sleep(1); END $$`)
  await assert.rejects(
    database.transaction(({ query }) => query(die, [])),
    (error: Unavailable) => {
      return error instanceof Unavailable && (error.cause as { code: string }).code === '25P04'
    },
  )
  assert.equal((await database.query(selectPid, [])).count, 1)
})
