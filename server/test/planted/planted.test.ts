// The bugs can be planted, and they are found only when they are: `npm run sim:prove` looks for all of them.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'
import { promisify } from 'node:util'
import { checkoutDir } from '../../src/config/read.ts'
import { BUGS } from './bugs.ts'
import type { Hunt } from './hunt.ts'
import { plant, plantedVariable } from './planted-bug.ts'
import { STORE_BUGS } from './store-bugs.ts'

const all = [...BUGS, ...STORE_BUGS]

test('the line of every bug is in the source, once', async () => {
  for (const bug of all) {
    const source = await readFile(join(checkoutDir, 'server/src', bug.file), 'utf8')
    assert.notEqual(plant(source, bug), source)
  }
})

test('a bug whose line is gone, or is there twice, is not planted', () => {
  const bug = { name: 'a bug', file: 'some.ts', find: 'x > 0', replace: 'true', wrong: 'all' }
  assert.throws(() => plant('if (x < 0) return', bug), /"a bug": its text is in some.ts 0 times/)
  assert.throws(() => plant('x > 0 || x > 0', bug), /2 times/)
  assert.equal(plant('if (x > 0) return', bug), 'if (true) return')
})

test('every bug is in the table of docs/internals/evidence.md, and none else', async () => {
  const page = await readFile(join(checkoutDir, 'docs/internals/evidence.md'), 'utf8')
  const [, rows = ''] = page.split(
    '| Planted bug | What is wrong then | Found by | Seeds needed |\n|---|---|---|---|\n',
  )
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

// One that breaks the schedule engine, of which the checker has a copy without the bug, and one that breaks a rule.
for (const name of ['autumn hour runs twice', 'cancel that is only looked at']) {
  test(`"${name}" is found`, async () => {
    const hunt = await lookFor(name)
    assert.match(hunt.invariant ?? '', /^I\d+$/, JSON.stringify(hunt))
  })
}

async function lookFor(name: string): Promise<Hunt> {
  const file = (of: string) => join(import.meta.dirname, of)
  const env = { ...process.env, [plantedVariable]: name }
  const args = ['--import', file('register.ts'), file('hunt.ts'), '1', '500']
  const { stdout } = await promisify(execFile)(process.execPath, args, { env })
  return JSON.parse(stdout) as Hunt
}
