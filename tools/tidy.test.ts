import assert from 'node:assert/strict'
import test from 'node:test'
import { judge, unknownSubjects } from './tidy.ts'
import { checkDecisionIndex, deadLinks } from './tidy-docs.ts'
import { wordsOfDocument, wordsOfMigration, wordsOfSource } from './tidy-words.ts'

const source = (path: string, text = '') => ({ path, text, isTest: false })
const importing = (path: string, specifier: string) => judge(source(path), { specifier, typeOnly: false })

test('a shipped file may not import a test folder, of its own workspace or of another', () => {
  for (const [path, specifier] of [
    ['server/src/wiring/server.ts', '../../testing/memory-store/store.ts'],
    ['server/src/lib/random.ts', '../../test/dice.ts'],
    ['cli/src/main.ts', '../../server/test/cleanup.ts'],
    ['sdk/src/worker.ts', '../test/scene.ts'],
  ] as const)
    assert.match(String(importing(path, specifier)), /is not shipped; only tests may import it$/)
  assert.deepEqual(importing('server/testing/memory-store/store.ts', '../../src/lib/id.ts'), [])
})

test('the generic folder of the server may import no package', () => {
  assert.match(
    String(importing('server/src/lib/http/client.ts', 'undici')),
    /may not import the package undici/,
  )
})

test('a folder under a layer that is divided by subject must be a known subject', () => {
  const paths = ['server/src/domain/jobs/job.ts', 'server/src/domain/misc/a.ts', 'server/src/lib/any/a.ts']
  assert.deepEqual(unknownSubjects([...paths, 'server/src/api/app.ts']), [
    'server/src/domain/misc/: no known subject; use one of tools/tidy.ts, or list it there',
  ])
})

test('texts of the dashboard are checked: attributes, the text of elements, and strings', () => {
  const vague = (text: string) => wordsOfSource(source('dashboard/src/screens/a.tsx', text)).length
  assert.equal(
    vague('// Opens.\nconst a = <b>Take it away: <Time />. Now whoever\n  knows it is out.</b>'),
    1,
  )
  assert.equal(vague('// Opens.\nconst a = <Field label="Reason, for those at work" />'), 1)
  assert.equal(vague("// Opens.\nconst a = 'Results of what ran before'"), 1)
  assert.equal(
    vague('// Opens.\nconst what = list.map((who) => <b>{what(who)}</b>)\nif (who > 1) { what = 2 }'),
    0,
  )
})

test('comments of a migration are checked, but for the migrations that were there before the rule', () => {
  const path = (number: string) => `server/src/postgres/schema/migrations/${number}-queue.sql`
  const text = 'SELECT 1; -- for whoever asks'
  assert.deepEqual(wordsOfMigration(path('0029'), text), [])
  assert.equal(wordsOfMigration(path('0030'), text).length, 1)
})

test('a document is checked outside its code, and a person may have a relative clause', () => {
  assert.deepEqual(wordsOfDocument('a.md', 'People who ask.\n```\nwhat\n```'), [])
  assert.equal(wordsOfDocument('a.md', 'It is what it is.').length, 1)
})

test('a link of a document must lead to a file', () => {
  const exists = (path: string) => path === 'docs/b.md'
  assert.deepEqual(deadLinks('docs/a.md', '[b](b.md#part) [c](https://c.d/e) [f](../f.md)', exists), [
    'docs/a.md: links to ../f.md, which is not there',
  ])
})

test('the index of decisions lists each record once, in order, under its own title', () => {
  const records = [
    { name: '0002-b.md', text: '# 2. Second\n' },
    { name: '0001-a.md', text: '# 1. First\n' },
  ]
  const first = '| 1 | [First](0001-a.md) | accepted | x |\n'
  const second = '| 2 | [Second](0002-b.md) | accepted | x |\n'
  const check = (index: string) => checkDecisionIndex(index, records)
  assert.deepEqual(check(first + second), [])
  assert.match(check(first)[0]!, /does not list 0002-b\.md: # 2\. Second$/)
  assert.match(check(first + second + second)[0]!, /twice 0002-b\.md/)
  assert.match(check(second + first)[0]!, /in the order of their numbers$/)
  assert.match(
    check(`${first}| 2 | [Other](0002-b.md) | accepted | x |`)[0]!,
    /does not list 0002-b\.md: # 2\. Second$/,
  )
  assert.match(
    check(`${first}${second}| 3 | [Third](0003-c.md) | x |`)[0]!,
    /no record is 0003-c\.md: # 3\. Third$/,
  )
  const misnumbered = checkDecisionIndex(first, [{ name: '0001-a.md', text: '# 7. First\n' }])
  assert.match(
    misnumbered[0]!,
    /^docs\/decisions\/0001-a\.md: its title begins with another number than its name$/,
  )
})
