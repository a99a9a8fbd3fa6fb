// A disk without room, as PostgreSQL reports it: the error is raised by a trigger, since a test may not fill a disk. The
// chaos run fills a real one.
import assert from 'node:assert/strict'
import test from 'node:test'
import { connect, createDatabase } from '../database.ts'
import { post, startCarillon } from './carillon.ts'

test('a full disk is named by the refused write, by /readyz and by a metric', async (t) => {
  const address = await createDatabase(t)
  const client = await connect(t, address)
  await client.query(`
    CREATE FUNCTION fill_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      RAISE 'could not extend file "base/1/2": No space left on device' USING ERRCODE = 'disk_full';
    END $$;
    CREATE TRIGGER fill_disk BEFORE INSERT ON jobs FOR EACH ROW EXECUTE FUNCTION fill_disk()`)
  const url = `postgres://carillon@/${address.database}?host=${address.socketDir}`
  const { server } = await startCarillon(t, { url })
  const readyz = () => fetch(`${server.url}/readyz`)
  assert.equal((await readyz()).status, 200)
  const job = { name: 'one', schedule: '0 0 1 1 *', execution: { callback_url: 'http://127.0.0.1:9/' } }
  const refused = await post(server.url!, '/jobs', job)
  assert.deepEqual([refused.status, refused.body.code], [503, 'UNAVAILABLE'])
  assert.equal(refused.body.detail, 'The disk of the database is full.')
  const ready = await readyz()
  assert.equal(ready.status, 503)
  assert.equal(
    ((await ready.json()) as { checks: { database: string } }).checks.database,
    'the disk of the database is full',
  )
  const metrics = await (await fetch(`${server.url}/metrics`)).text()
  assert.match(metrics, /^carillon_disk_full_total 1$/m)
})
