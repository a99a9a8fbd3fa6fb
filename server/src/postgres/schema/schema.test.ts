// Checks that schema.sql and docs/internals/schema.md match the result of the migrations. UPDATE_DOCS=1 writes both.
import assert from 'node:assert/strict'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import test from 'node:test'
import { useDatabase } from '../../../test/database.ts'
import { readCatalogue, schemaText } from '../../../test/schema-text.ts'
import { schemaSubjects } from '../../../testing/schema/tables.ts'
import { checkoutDir } from '../../config/read.ts'

const schemaFile = join(import.meta.dirname, 'schema.sql')
const pageFile = join(checkoutDir, 'docs/internals/schema.md')
const notes = schemaSubjects.flatMap(({ tables }) => tables)

/** The file must have this text; with UPDATE_DOCS=1 it gets it. */
async function holdEqual(file: string, expected: string): Promise<void> {
  if (process.env['UPDATE_DOCS'] === '1') await writeFile(file, expected)
  const found = await readFile(file, 'utf8').catch(() => '')
  assert.equal(found, expected, `UPDATE_DOCS=1 npm test -- ${relative(checkoutDir, import.meta.filename)}`)
}

test('tables.ts describes exactly the tables of the migrated schema, and only columns that exist', async (t) => {
  const { client } = await useDatabase(t)
  const { tables, columns } = await readCatalogue(client)
  assert.deepEqual(notes.map(({ table }) => table).toSorted(), tables.map(({ table }) => table).toSorted())
  const known = new Set(columns.map(({ table, name }) => `${table}.${name}`))
  const described = notes.flatMap(({ table, columns = {} }) =>
    Object.keys(columns).map((name) => `${table}.${name}`),
  )
  assert.deepEqual(
    described.filter((name) => !known.has(name)),
    [],
  )
})

test('schema.sql is the schema that the migrations make', async (t) => {
  const { client } = await useDatabase(t)
  await holdEqual(schemaFile, schemaText(await readCatalogue(client)))
})

test('schema.sql is whole: an empty database gets the same schema from it', async (t) => {
  const { client } = await useDatabase(t, { template: 'empty' })
  await client.query(await readFile(schemaFile, 'utf8'))
  assert.equal(schemaText(await readCatalogue(client)), await readFile(schemaFile, 'utf8'))
})

test('docs/internals/schema.md lists every table with the files that write it', async () => {
  await holdEqual(pageFile, await schemaPage())
})

const pageHead = `# The schema

Every table, from [tables.ts](../../server/testing/schema/tables.ts) and the statements that write it. The columns, constraints, indexes, triggers and functions are in
[schema.sql](../../server/src/postgres/schema/schema.sql), generated from the [migrations](../../server/src/postgres/schema/migrations); the conventions behind the columns are in
[schema/README.md](../../server/src/postgres/schema/README.md) and [conventions.md](conventions.md). A test holds this page and schema.sql equal to the migrated schema.
`

async function schemaPage(): Promise<string> {
  const writers = await readWriters()
  const sections = schemaSubjects.map(({ subject, tables }) =>
    [
      `\n## ${subject[0]!.toUpperCase()}${subject.slice(1)}\n`,
      '| Table | Purpose | Written by | Growth | Retention |',
      '|---|---|---|---|---|',
      ...tables.map(({ table, purpose, growth, retention }) => {
        const files = writers.get(table)?.join(', ') ?? 'migrations only'
        return `| \`${table}\` | ${purpose} | ${files} | ${growth} | ${retention} |`
      }),
    ].join('\n'),
  )
  return `${pageHead}${sections.join('\n')}\n`
}

/** Links to the files with a statement that writes a table, by table. The demo is left out: it writes a history of its own. */
async function readWriters(): Promise<Map<string, string[]>> {
  const source = join(checkoutDir, 'server/src')
  const files = (await readdir(join(source, 'postgres'), { recursive: true }))
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && !name.endsWith('demo.sql.ts'))
    .toSorted()
  const writers = new Map<string, string[]>()
  for (const file of files) {
    const text = await readFile(join(source, 'postgres', file), 'utf8')
    const written = text.matchAll(
      /\b(?:INSERT INTO|UPDATE|DELETE FROM|CREATE TABLE IF NOT EXISTS) ([a-z_]+)\b/g,
    )
    const tables = [...written].map((match) => match[1]!)
    // Shared pieces of postgres/sql/insert.ts.
    for (const [, piece] of text.matchAll(/\binsert(Live|Attempts|DeadLetters)\(/g))
      tables.push(piece!.replace(/(?<=[a-z])[A-Z]/, (letter) => `_${letter}`).toLowerCase())
    for (const table of new Set(tables)) {
      const link = `[${file.replace(/(\.sql)?\.ts$/, '')}](../../server/src/postgres/${file})`
      writers.set(table, [...(writers.get(table) ?? []), link])
    }
  }
  return writers
}
