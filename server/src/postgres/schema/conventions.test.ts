// docs/internals/conventions.md names every advisory lock and every session setting of our own that the code uses.
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'
import { checkoutDir } from '../../config/read.ts'

const source = join(checkoutDir, 'server/src')

interface SourceFile {
  name: string
  text: string
}

async function readSources(): Promise<SourceFile[]> {
  const names = (await readdir(source, { recursive: true })).filter((name) =>
    /(?<!\.test)\.ts$|migrations.*\.sql$/.test(name),
  )
  return Promise.all(names.map(async (name) => ({ name, text: await readFile(join(source, name), 'utf8') })))
}

/** The rows of a section's table: the first cell, and the files that the row links. */
async function rowsOf(title: string): Promise<{ cell: string; files: string[] }[]> {
  const page = await readFile(join(checkoutDir, 'docs/internals/conventions.md'), 'utf8')
  const section = page.split(/^## /m).find((part) => part.startsWith(`${title}\n`))!
  return section
    .split('\n')
    .filter((line) => /^\| (?!Lock|Setting)/.test(line))
    .map((line) => ({
      cell: line.split('|')[1]!.trim(),
      files: [...line.matchAll(/server\/src\/([^)]+)\)/g)].map((match) => match[1]!),
    }))
}

/** `(7420, 2)`, `(7422, …)`, or `seed 7421` of a lock by a hash. */
function locksOf(text: string): string[] {
  const calls = text.matchAll(/pg_(?:try_)?advisory_(?:xact_)?lock(?:_shared)?\((.*)/g)
  return [...calls].map(([, rest]) => {
    const [, first, second] = /^(\d+), (\w+)/.exec(rest!) ?? []
    if (first === undefined) return `seed ${/(\d{4})\)/.exec(rest!)?.[1]}`
    return /^\d+$/.test(second!) ? `(${first}, ${second})` : `(${first}, …)`
  })
}

function lockOfCell(cell: string): string {
  const [, first, second] = /\((\d+), (\w+)/.exec(cell) ?? []
  if (first === undefined) return /seed \d+/.exec(cell)![0]
  return /^\d+$/.test(second!) ? `(${first}, ${second})` : `(${first}, …)`
}

test('every advisory lock of the code is in conventions.md with the files that take it, and no other', async () => {
  const used = (await readSources()).flatMap(({ name, text }) =>
    locksOf(text).map((lock) => `${lock} in ${name}`),
  )
  const rows = await rowsOf('Advisory locks')
  const listed = rows.flatMap(({ cell, files }) => files.map((file) => `${lockOfCell(cell)} in ${file}`))
  assert.deepEqual([...new Set(used)].toSorted(), listed.toSorted())
})

test('every setting carillon.… of the code is in conventions.md with its file, and no other', async () => {
  const used = (await readSources()).flatMap(({ name, text }) =>
    [...text.matchAll(/_(?:config|setting)\('(carillon\.\w+)'/g)].map((match) => `${match[1]} in ${name}`),
  )
  const rows = await rowsOf('Session settings')
  const listed = rows.flatMap(({ cell, files }) =>
    [...cell.matchAll(/`(carillon\.\w+)`/g)].flatMap((match) =>
      files.map((file) => `${match[1]} in ${file}`),
    ),
  )
  assert.deepEqual([...new Set(used)].toSorted(), listed.toSorted())
})
