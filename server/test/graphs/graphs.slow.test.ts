// More random graphs than graphs.test.ts plays: a hundred in all, in parts, because a test may not take long.
import test from 'node:test'
import { assertStoresAgree } from './play-graphs.ts'

for (const seed of [2, 3, 4]) {
  test(`random graphs ${seed} have the same records in memory and on PostgreSQL, and are resumed to a good end`, async (t) => {
    await assertStoresAgree(t, seed)
  })
}
