// A list of items as one JSON parameter. Its keys are the names of the columns; on hot paths they are short, because a
// finish of 2,000 executions is one JSON text. This is the one place that says which key is which column. The first CTE
// of a statement renames short keys: `named`.
import { columnNames, type Fragment, fragment, listed } from '../../lib/sql.ts'

const TYPES = {
  uuid: fragment`uuid`,
  text: fragment`text`,
  smallint: fragment`smallint`,
  int: fragment`int`,
  float8: fragment`float8`,
  boolean: fragment`boolean`,
  json: fragment`json`,
  'uuid[]': fragment`uuid[]`,
  'text[]': fragment`text[]`,
  'int[]': fragment`int[]`,
} as const
type SqlType = keyof typeof TYPES
interface Values extends Record<SqlType, unknown> {
  uuid: string
  text: string
  smallint: number
  int: number
  float8: number
  boolean: boolean
  json: unknown
  'uuid[]': readonly (string | null)[]
  'text[]': readonly string[]
  'int[]': readonly (number | null)[]
}

/** The name of each field with its type in SQL; with a short key, both. Without one the key is the name of the column. */
type Field = SqlType | readonly [key: string, type: SqlType]
type Fields = Readonly<Record<string, Field>>
type ValueOf<Of extends Field> = Values[Of extends readonly [string, infer Type extends SqlType]
  ? Type
  : Of & SqlType]

type Row<Of extends Fields> = { readonly [Name in keyof Of]: ValueOf<Of[Name]> | null }

export interface Item<Of extends Fields> {
  /** For `json_to_recordset(…) AS x(…)`. */
  columns: Fragment
  /** The columns of a row of that list, under their whole names: executionId is execution_id. */
  named(row: Fragment): Fragment
  /** The same columns once they are renamed. */
  of(row: Fragment): Fragment
  /** The fields as JSON objects. On a hot path write the object yourself: `WireOf` checks its keys. */
  encode(items: Iterable<Row<Of>>): string
  encodeOne(item: Row<Of>): string
  readonly fields: Of
}

/** An item under its whole names. */
export type RowOf<Any> = Any extends Item<infer Of> ? Row<Of> : never

type KeyOf<Of> = Of extends readonly [infer Key extends string, SqlType] ? Key : never

/** An item with short keys as JSON.stringify gets it; absent: null. */
export type WireOf<Any> =
  Any extends Item<infer Of>
    ? { -readonly [Name in keyof Of as KeyOf<Of[Name]>]?: ValueOf<Of[Name]> | null | undefined }
    : never

export function defineItem<const Of extends Fields>(fields: Of): Item<Of> {
  const parts = Object.entries<Field>(fields).map(([name, field]) => {
    const column = name.replace(/[A-Z]/g, toSnake)
    const [key, type] = typeof field === 'string' ? [column, field] : field
    return { name, key, type: TYPES[type], column: columnNames([column]), wire: columnNames([key]) }
  })
  const encodeOne = (item: Row<Of>): string => {
    const wire: Record<string, unknown> = {}
    for (const { name, key } of parts) wire[key] = item[name]
    return JSON.stringify(wire)
  }
  return {
    fields,
    columns: listed(parts.map(({ wire, type }) => fragment`${wire} ${type}`)),
    named: (row) => listed(parts.map(({ wire, column }) => fragment`${row}.${wire} AS ${column}`)),
    of: (row) => listed(parts.map(({ column }) => fragment`${row}.${column}`)),
    encode: (items) => `[${Array.from(items, encodeOne).join(',')}]`,
    encodeOne,
  }
}

function toSnake(letter: string): string {
  return `_${letter.toLowerCase()}`
}
