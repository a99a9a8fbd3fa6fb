// The bugs can be planted: each has its line in the source, and its row in the documentation.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'
import { checkoutDir } from '../../src/config/read.ts'
import { BUGS } from './bugs.ts'
import { plant } from './planted-bug.ts'
import { STORE_BUGS } from './store-bugs.ts'

const all = [...BUGS, ...STORE_BUGS]

test('the line of every bug is in the source, once', async () => {
  for (const bug of all) {
    const source = await readFile(join(checkoutDir, 'server/src', bug.file), 'utf8')
    assert.notEqual(plant(source, bug), source)
  }
})

test('a bug is not planted if its line is missing or occurs twice', () => {
  const bug = { name: 'a bug', file: 'some.ts', find: 'x > 0', replace: 'true', wrong: 'all' }
  assert.throws(() => plant('if (x < 0) return', bug), /"a bug": its text is in some.ts 0 times/)
  assert.throws(() => plant('x > 0 || x > 0', bug), /2 times/)
  assert.equal(plant('if (x > 0) return', bug), 'if (true) return')
})

test('every bug is in the table of docs/internals/evidence.md, and none else', async () => {
  const page = await readFile(join(checkoutDir, 'docs/internals/evidence.md'), 'utf8')
  const [, rows = ''] = page.split('| Planted bug | Effect | Found by | Seeds needed |\n|---|---|---|---|\n')
  const listed = [...rows.split('\n\n')[0]!.matchAll(/^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|/gm)]
  assert.deepEqual(
    listed.map(([, name, wrong]) => `${name}: ${wrong}`),
    BUGS.map(({ name, wrong, file }) => `${name}: ${wrong} (\`${file}\`)`),
  )
  assert.ok(listed.every(([, , , by]) => by !== 'NOT FOUND'))
})

test('the names differ', () => {
  assert.equal(new Set(all.map(({ name }) => name)).size, all.length)
})
