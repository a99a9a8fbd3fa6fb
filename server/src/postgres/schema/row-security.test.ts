// Every table with rows of tenants is under row-level security, by one policy.
import assert from 'node:assert/strict'
import test from 'node:test'
import { useDatabase } from '../../../test/database.ts'

/** Tables with a tenant_id and no policy, each with the reason. */
const exceptions: Readonly<Record<string, string>> = {
  cursors: 'fires lock its rows, and the lists of jobs by status read it in the order of an index',
  live: 'lists look at its newest rows of all tenants, a bounded number: with a policy they would pass over the others’ rows without a bound',
}

test('every table with a tenant_id has the policy, or a reason to have none', async (t) => {
  const { client } = await useDatabase(t)
  const { rows } = await client.query<{ name: string; secured: boolean; policies: string[] }>(`
    SELECT c.relname AS name, c.relrowsecurity AS secured,
      ARRAY(SELECT concat(p.polname, ' ', p.polcmd, ' ', pg_get_expr(p.polqual, c.oid)) FROM pg_policy p WHERE p.polrelid = c.oid) AS policies
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition`)
  assert(rows.length >= 20)
  const without = rows.filter(({ secured, policies }) => !secured || policies.length === 0)
  assert.deepEqual(without.map(({ name }) => name).toSorted(), Object.keys(exceptions).toSorted())
  for (const { name, policies } of rows.filter((row) => row.secured))
    assert.deepEqual(policies, ['own_tenant * (tenant_id = acting_tenant())'], name)
})
