// The schema of a migrated database as SQL that makes it: the text of schema.sql. Read from the catalogue, because the
// embedded PostgreSQL comes without pg_dump. The partitions of single days are left out.
import type pg from 'pg'
import { schemaSubjects, type TableNote } from '../testing/schema/tables.ts'

interface Part {
  table: string
  name: string
  text: string
}

interface Column extends Part {
  storage: string | null
}

interface Catalogue {
  tables: { table: string; tail: string }[]
  columns: Column[]
  constraints: Part[]
  indexes: Part[]
  triggers: Part[]
  policies: Part[]
  /** In order of creation, as one may call another. `table`: the function returns its row type; null: none. */
  functions: { name: string; table: string | null; text: string }[]
}

const ours = `c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition`

const selectTables = `
  SELECT c.relname AS table,
    concat(' PARTITION BY ' || pg_get_partkeydef(c.oid), ' WITH (' || array_to_string(c.reloptions, ', ') || ')') AS tail
  FROM pg_class c WHERE ${ours} ORDER BY 1`

const selectColumns = `
  SELECT c.relname AS table, a.attname AS name,
    concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod),
      CASE WHEN a.attcollation <> t.typcollation THEN 'COLLATE ' || quote_ident(l.collname) END,
      CASE WHEN a.attidentity = 'a' THEN 'GENERATED ALWAYS AS IDENTITY' END,
      CASE a.attgenerated WHEN 's' THEN 'GENERATED ALWAYS AS (' || pg_get_expr(d.adbin, d.adrelid, true) || ') STORED'
        WHEN '' THEN 'DEFAULT ' || pg_get_expr(d.adbin, d.adrelid, true) END,
      CASE WHEN a.attnotnull THEN 'NOT NULL' END) AS text,
    CASE WHEN a.attstorage <> t.typstorage THEN
      CASE a.attstorage WHEN 'e' THEN 'EXTERNAL' WHEN 'm' THEN 'MAIN' WHEN 'p' THEN 'PLAIN' ELSE 'EXTENDED' END END AS storage
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_collation l ON l.oid = a.attcollation
  LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
  WHERE ${ours} ORDER BY c.relname, a.attnum`

const selectConstraints = `
  SELECT c.relname AS table, k.conname AS name, pg_get_constraintdef(k.oid, true) AS text
  FROM pg_class c JOIN pg_constraint k ON k.conrelid = c.oid AND k.contype <> 'n'
  WHERE ${ours} ORDER BY c.relname, position(k.contype::text IN 'pufcx'), k.conname`

const selectIndexes = `
  SELECT c.relname AS table, i.relname AS name, pg_get_indexdef(x.indexrelid, 0, true) AS text
  FROM pg_class c JOIN pg_index x ON x.indrelid = c.oid JOIN pg_class i ON i.oid = x.indexrelid
  WHERE ${ours} AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = x.indexrelid AND k.contype IN ('p', 'u', 'x'))
  ORDER BY 1, 2`

const selectTriggers = `
  SELECT c.relname AS table, t.tgname AS name, pg_get_triggerdef(t.oid, true) AS text
  FROM pg_class c JOIN pg_trigger t ON t.tgrelid = c.oid AND NOT t.tgisinternal WHERE ${ours} ORDER BY 1, 2`

const selectPolicies = `
  SELECT c.relname AS table, p.polname AS name,
    concat('CREATE POLICY ', p.polname, ' ON ', c.relname, CASE WHEN p.polcmd <> '*' OR p.polroles <> '{0}' OR NOT p.polpermissive THEN ' (not for all)' END,
      ' USING (' || pg_get_expr(p.polqual, c.oid, true) || ')', ' WITH CHECK (' || pg_get_expr(p.polwithcheck, c.oid, true) || ')') AS text
  FROM pg_class c JOIN pg_policy p ON p.polrelid = c.oid WHERE ${ours} ORDER BY 1, 2`

const selectRowSecurity = `
  SELECT c.relname AS table, 'row security' AS name,
    concat('ALTER TABLE ', c.relname, CASE WHEN c.relforcerowsecurity THEN ' FORCE' ELSE ' ENABLE' END, ' ROW LEVEL SECURITY') AS text
  FROM pg_class c WHERE ${ours} AND c.relrowsecurity ORDER BY 1`

const selectFunctions = `
  SELECT p.proname AS name, pg_get_functiondef(p.oid) AS text,
    (SELECT min(c.relname) FROM pg_type t JOIN pg_class c ON c.oid = t.typrelid
      WHERE t.oid = ANY (coalesce(p.proallargtypes, p.proargtypes::oid[]) || p.prorettype) AND ${ours}) AS table
  FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace ORDER BY p.oid`

export async function readCatalogue(client: pg.Client): Promise<Catalogue> {
  const read = async <R extends object>(text: string) => (await client.query<R>(text)).rows
  return {
    tables: await read(selectTables),
    columns: await read(selectColumns),
    constraints: await read(selectConstraints),
    indexes: await read(selectIndexes),
    triggers: await read(selectTriggers),
    policies: [...(await read<Part>(selectRowSecurity)), ...(await read<Part>(selectPolicies))],
    functions: await read(selectFunctions),
  }
}

const head = `-- The schema that the migrations make, generated from the catalogue of a migrated PostgreSQL 18; never run by the program.
-- \`UPDATE_DOCS=1 npm test -- server/src/postgres/schema/schema.test.ts\` writes it again. Purposes and column notes come from
-- tables.ts beside it. Left out: the partitions of single days, and the rows that migrations insert.
`

export function schemaText(catalogue: Catalogue): string {
  const parts = [head, `-- ==== functions ====\n`]
  for (const { table, text } of catalogue.functions) if (table === null) parts.push(functionText(text))
  for (const { subject, tables } of schemaSubjects) {
    parts.push(`-- ==== ${subject} ====\n`)
    for (const note of tables) parts.push(tableText(note, catalogue))
  }
  return parts.join('\n')
}

function tableText({ table, purpose, columns: notes = {} }: TableNote, catalogue: Catalogue): string {
  const of = <P extends { table: string | null }>(parts: readonly P[]) =>
    parts.filter((part) => part.table === table)
  const columns = of(catalogue.columns)
  const items = [
    ...columns.map(({ name, text }) => ({ text, note: notes[name] })),
    ...of(catalogue.constraints).map(({ name, text }) => ({
      text: `CONSTRAINT ${name} ${text}`,
      note: undefined,
    })),
  ]
  const lines = items.map(({ text, note }, index) => {
    const comma = index < items.length - 1 ? ',' : ''
    return `  ${shorten(text)}${comma}${note === undefined ? '' : ` -- ${note}`}`
  })
  const tail = of(catalogue.tables)[0]?.tail ?? ''
  return [
    `-- ${purpose}`,
    `CREATE TABLE ${table} (`,
    ...lines,
    `)${tail};`,
    ...columns
      .filter(({ storage }) => storage !== null)
      .map(({ name, storage }) => `ALTER TABLE ${table} ALTER ${name} SET STORAGE ${storage};`),
    ...of(catalogue.indexes).map(({ text }) => `${shorten(withoutSchema(text))};`),
    ...of(catalogue.triggers).map(({ text }) => `${shorten(withoutSchema(text))};`),
    ...of(catalogue.policies).map(({ text }) => `${withoutSchema(text)};`),
    ...of(catalogue.functions).map(({ text }) => functionText(text).trimEnd()),
    '',
  ].join('\n')
}

const functionText = (text: string) =>
  `${withoutSchema(text).replace('CREATE OR REPLACE', 'CREATE').trim()};\n`

const withoutSchema = (text: string) => text.replaceAll('public.', '')

/** As people write it. */
const shorten = (text: string) =>
  text
    .replace(/timestamp\(3\) with time zone/g, 'timestamptz(3)')
    .replace(/('(?:[^']|'')*')::text\b/g, '$1')
    .replace(/ USING btree /, ' ')
