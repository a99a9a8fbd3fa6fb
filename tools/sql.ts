// `npm run sql`: the names of all statements, by file. `npm run sql -- NAME`: the statement as PostgreSQL gets it, for
// psql. `npm run sql -- NAME --explain`: its generic plan, on an empty database with our schema.
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { didYouMean } from '../server/src/lib/did-you-mean.ts'
import type { Sql } from '../server/src/lib/sql.ts'

const root = join(import.meta.dirname, '..')

async function readStatements(): Promise<{ file: string; statement: Sql }[]> {
  const files = globSync('server/src/postgres/**/*.sql.ts', { cwd: root }).toSorted()
  const modules = await Promise.all(
    files.map(async (file) => ({ file, all: await import(join(root, file)) })),
  )
  return modules.flatMap(({ file, all }) =>
    Object.values(all as Record<string, Partial<Sql>>)
      .filter((one): one is Sql => one.name !== undefined && one.text !== undefined)
      .map((statement) => ({ file, statement })),
  )
}

/** Parameters by number, with the type that the statement gives them where it does. */
function parametersOf(text: string): string[] {
  const types = new Map<number, string>()
  for (const [, number, type] of text.matchAll(/\$(\d+)(?:::([a-z0-9_]+(?:\[\])?))?/g)) {
    if (type !== undefined || !types.has(Number(number))) types.set(Number(number), type ?? 'inferred')
  }
  return [...types].toSorted(([a], [b]) => a - b).map(([number, type]) => `$${number} ${type}`)
}

async function explain(statement: Sql): Promise<string> {
  process.env['CARILLON_TEST_POSTGRES'] = '18'
  const { globalSetup, globalTeardown } = await import('../server/test/global.ts')
  const { openClient, socketDirVariable, templateName } = await import('../server/test/database.ts')
  await globalSetup()
  try {
    const socketDir = process.env[socketDirVariable(18)]!
    const client = await openClient({ socketDir, database: templateName })
    try {
      const { rows } = await client.query(`EXPLAIN (GENERIC_PLAN) ${statement.text}`)
      return rows.map((row: Record<string, string>) => row['QUERY PLAN']).join('\n')
    } finally {
      await client.end()
    }
  } finally {
    await globalTeardown()
  }
}

const [name, ...flags] = process.argv.slice(2)
const unknown = flags.find((flag) => flag !== '--explain')
const statements = await readStatements()
if (unknown !== undefined) {
  console.error(`sql: ${unknown} is not an option; the only one is --explain.`)
  process.exitCode = 2
} else if (name === undefined) {
  for (const [file, all] of Map.groupBy(statements, (one) => one.file)) {
    console.log(`${file}\n  ${all.map(({ statement }) => statement.name).join(' ')}`)
  }
} else {
  const found = statements.find(({ statement }) => statement.name === name)
  if (found === undefined) {
    const names = statements.map(({ statement }) => statement.name)
    console.error(`sql: there is no statement ${name}.${didYouMean(name, names)}`)
    process.exitCode = 1
  } else {
    const { file, statement } = found
    const parameters = parametersOf(statement.text)
    console.log(`-- ${file}${parameters.length > 0 ? `\n-- ${parameters.join(', ')}` : ''}`)
    console.log(`${statement.text};`)
    if (flags.includes('--explain')) console.log(`\n${await explain(statement)}`)
  }
}
