import assert from 'node:assert/strict'
import test from 'node:test'
import { literals, sql } from './sql.ts'

test('a statement carries its name as a comment, so that pg_stat_activity shows it', () => {
  const statement = sql('selectThing')`
    SELECT 1`
  assert.deepEqual(statement, { name: 'selectThing', text: '/* selectThing */ SELECT 1' })
})

test('interpolation into a statement does not compile', () => {
  const value = 'x'
  // @ts-expect-error values are parameters
  sql('bad')`SELECT ${value}`
})

test('a literal is a plain word, which may end with a space or an exclamation mark; a quote is refused', () => {
  assert.equal(literals(['http', 'deleted ', 'deleted!']).text, "'http', 'deleted ', 'deleted!'")
  for (const bad of ["it's", 'a b', ' a', '', "a'"]) assert.throws(() => literals([bad]), /is no plain word/)
})
