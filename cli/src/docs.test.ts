// docs/cli.md and the code say the same.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { cli } from '../test/cli.ts'
import { optionsOf } from './command.ts'
import { commands } from './commands.ts'
import { EXIT } from './exit-code.ts'

const docs = readFileSync(join(import.meta.dirname, '../../docs/cli.md'), 'utf8')
const shown = commands.filter(({ hidden }) => hidden !== true)

test('docs/cli.md has every command, and no other, in the same order', () => {
  const listed = [...docs.matchAll(/^\| `carillon ([\w -]+)` \|/gm)].map((match) => match[1])
  assert.deepEqual(
    listed,
    shown.map(({ path }) => path.join(' ')),
  )
})

test('docs/cli.md has every exit code, and no other', () => {
  const section = docs.slice(docs.indexOf('## Exit codes'), docs.indexOf('## Jobs in files'))
  const listed = [...section.matchAll(/^\| (\d+) \|/gm)].map((match) => Number(match[1]))
  assert.deepEqual(listed, Object.values(EXIT))
})

test('docs/cli.md describes the JSON of every command', () => {
  const section = docs.slice(docs.indexOf('## JSON'), docs.indexOf('## Exit codes'))
  const withoutJson = ['start', 'completion']
  for (const { path } of shown.filter((command) => !withoutJson.includes(command.path[0]!))) {
    const last = path.at(-1)!
    assert(section.includes(`\`${path.join(' ')}\``) || section.includes(`\`${last}\``), path.join(' '))
  }
})

test('every command tells all its options in its help', async () => {
  for (const command of shown) {
    const { code, out } = await cli([...command.path, '--help'])
    assert.equal(code, 0)
    for (const name of Object.keys(optionsOf(command)))
      assert(out.includes(`--${name}`), `${command.path} ${name}`)
    for (const { name } of command.arguments ?? []) assert(out.includes(name))
    const listed = out.slice(0, out.indexOf('\nExamples'))
    for (const line of listed.split('\n')) assert(line.length <= 110, line)
  }
})

test('no two options of a command share a letter, and each that takes a value names it', () => {
  for (const command of shown) {
    const specs = Object.entries(optionsOf(command))
    const letters = specs.flatMap(([, { short }]) => short ?? [])
    assert.equal(new Set(letters).size, letters.length, command.path.join(' '))
    for (const [name, { kind, value }] of specs) assert.equal(value !== undefined, kind !== 'flag', name)
  }
})
