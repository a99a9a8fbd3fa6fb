import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { writeEntry } from './test-entry.ts'

test('a test process ends with its `after`, when the tests of its last file have run', (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'carillon-entry-'))
  t.after(() => rmSync(dir, { recursive: true }))
  const write = (name: string, text: string) => {
    const file = join(dir, name)
    writeFileSync(
      file,
      `import { appendFileSync } from 'node:fs'\nimport test, { after } from 'node:test'\n${text}`,
    )
    return file
  }
  const log = join(dir, 'log')
  const say = (word: string) => `appendFileSync(${JSON.stringify(log)}, '${word} ')`
  writeFileSync(log, '')
  const files = [
    write('first.ts', `after(() => ${say('end')})\ntest('one', () => ${say('one')})\n`),
    write('last.ts', `import './module-0.ts'\ntest('two', () => ${say('two')})\n`),
  ]
  // It takes long to read the last file.
  const modules = 200
  for (let n = 0; n < modules; n++)
    write(`module-${n}.ts`, n + 1 < modules ? `import './module-${n + 1}.ts'\n` : '')
  const entry = writeEntry(dir, 'entry', files)
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  execFileSync(process.execPath, ['--test', entry], { env, stdio: 'ignore' })
  assert.equal(readFileSync(log, 'utf8'), 'one two end ')
})
