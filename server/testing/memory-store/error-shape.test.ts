import assert from 'node:assert/strict'
import test from 'node:test'
import { POSTGRES_VERSIONS, useDatabase } from '../../test/database.ts'
import { errorShape } from './error-shape.ts'

const shapes = [
  ['the target answered 500', 'the target answered *'],
  ['', ''],
  ['no route to 10.0.0.17:8080', 'no route to *.*.*.*:*'],
  ['order 0192abcd-ef01-7000-8000-000000000001 is gone', 'order * is gone'],
  ['user "Ann O\'Neil" has no `id`', 'user * has no *'],
  ["key 'a b' at ('x', 'y')='z'", 'key * at (*, *)=*'],
  ["it can't and won't", "it can't and won't"],
  ['req_ab12 of job-7 failed', '* of * failed'],
  ['a line\nand 2 more', 'a line\nand * more'],
  ['öffnen 5 schlägt fehl 😀 7', 'öffnen * schlägt fehl 😀 *'],
  [`${'😀'.repeat(299)}12`, `${'😀'.repeat(299)}*`],
  [`${'x'.repeat(400)}1`, 'x'.repeat(300)],
] as const

test('parts that differ from one message to the next are left out', () => {
  for (const [message, shape] of shapes) assert.equal(errorShape(message), shape)
})

for (const version of POSTGRES_VERSIONS) {
  test(`PostgreSQL ${version} has the same shapes`, async (t) => {
    const { client } = await useDatabase(t, { version })
    for (const [message, shape] of shapes) {
      const { rows } = await client.query('SELECT error_shape($1) AS shape', [message])
      assert.equal(rows[0].shape, shape)
    }
  })
}
