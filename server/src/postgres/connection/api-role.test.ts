import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import test, { type TestContext } from 'node:test'
import {
  connect,
  createDatabase,
  openDatabase,
  POSTGRES_VERSIONS,
  type PostgresVersion,
} from '../../../test/database.ts'
import { OperatingError } from '../../lib/operating-error.ts'
import { programRole } from '../../lib/program-role.ts'
import { checkRowSecurity, countTenants, prepareApiRole } from './api-role.ts'

const newRole = () => `test_${randomUUID().replaceAll('-', '')}`

/** A migrated database whose tables belong to a role with these attributes, and a pool of that role. */
async function setupOwner(t: TestContext, version: PostgresVersion, attributes: string) {
  const address = await createDatabase(t, { version })
  const client = await connect(t, address)
  const owner = newRole()
  await client.query(`CREATE ROLE ${owner} NOLOGIN NOSUPERUSER ${attributes}`)
  await client.query(`GRANT ${owner} TO ${programRole}`)
  await client.query(`DO $$ DECLARE one regclass; BEGIN
    FOR one IN SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') LOOP
      EXECUTE format('ALTER TABLE %s OWNER TO ${owner}', one); END LOOP; END $$`)
  const actsAs = { role: owner, schemas: 'public', tenant: () => null }
  return { client, owner, open: () => openDatabase(t, address, { actsAs }) }
}

for (const version of POSTGRES_VERSIONS) {
  test(`PostgreSQL ${version}: an owner that may create roles makes the role, however many start at once`, async (t) => {
    const { open, client } = await setupOwner(t, version, 'CREATEROLE')
    const role = newRole()
    const states = await Promise.all(Array.from({ length: 6 }, () => prepareApiRole(open(), role)))
    for (const state of states) assert.deepEqual(state, { kind: 'on', role, schemas: 'public' })
    const { rows } = await client.query(
      'SELECT rolcanlogin, rolsuper, rolbypassrls, rolcreaterole FROM pg_roles WHERE rolname = $1',
      [role],
    )
    assert.deepEqual(rows, [
      { rolcanlogin: false, rolsuper: false, rolbypassrls: false, rolcreaterole: false },
    ])
  })

  test(`PostgreSQL ${version}: an owner that may not create roles is told the SQL that turns it on, which does`, async (t) => {
    const { open, client, owner } = await setupOwner(t, version, 'NOCREATEROLE')
    const database = open()
    const role = newRole()
    const state = await prepareApiRole(database, role)
    assert.equal(state.kind, 'off')
    assert.deepEqual(state, {
      kind: 'off',
      reason: `there is no role ${role}, and ${owner} may not create roles`,
      remedy: `CREATE ROLE ${role} NOLOGIN; GRANT ${role} TO "${owner}";`,
    })
    await client.query(`CREATE ROLE ${role} NOLOGIN`)
    assert.deepEqual(await prepareApiRole(database, role), {
      kind: 'off',
      reason: `the role ${owner} may not GRANT ${role}`,
      remedy: `CREATE ROLE ${role} NOLOGIN; GRANT ${role} TO "${owner}";`,
    })
    await client.query(`GRANT ${role} TO "${owner}"`)
    assert.equal((await prepareApiRole(database, role)).kind, 'on')
  })
}

test('a role that is above row-level security is not used', async (t) => {
  const address = await createDatabase(t)
  const client = await connect(t, address)
  const role = newRole()
  await client.query(`CREATE ROLE ${role} NOLOGIN BYPASSRLS`)
  const state = await prepareApiRole(openDatabase(t, address), role)
  assert.equal(state.kind === 'off' && state.reason, `the role ${role} is a superuser, or has BYPASSRLS`)
})

test('a server does not start when its reads see rows without acting for a tenant', async (t) => {
  const database = openDatabase(t, await createDatabase(t))
  const count = () => countTenants(database)
  await assert.rejects(checkRowSecurity(count, count), OperatingError)
})
