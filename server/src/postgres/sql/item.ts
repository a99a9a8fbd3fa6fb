// A list of items as one JSON parameter. Its keys are short, because a finish of 2,000 executions is one JSON text; this is
// the one place that says which key is which column. The first CTE of a statement renames them: `named`.
import { columnNames, type Fragment, fragment, listed } from '../../lib/sql.ts'

const TYPES = {
  uuid: fragment`uuid`,
  text: fragment`text`,
  int: fragment`int`,
  float8: fragment`float8`,
  boolean: fragment`boolean`,
  json: fragment`json`,
} as const
type SqlType = keyof typeof TYPES
type ValueOf<Type extends SqlType> = Type extends 'int' | 'float8'
  ? number
  : Type extends 'boolean'
    ? boolean
    : Type extends 'json'
      ? unknown
      : string

/** The name of each field with its key in the JSON and its type in SQL. */
type Fields = Readonly<Record<string, readonly [key: string, type: SqlType]>>

type Row<Of extends Fields> = { readonly [Name in keyof Of]: ValueOf<Of[Name][1]> | null }

export interface Item<Of extends Fields> {
  /** For `json_to_recordset(…) AS x(…)`. */
  columns: Fragment
  /** The columns of a row of that list, under their whole names: executionId is execution_id. */
  named(row: Fragment): Fragment
  /** The same columns once they are renamed. */
  of(row: Fragment): Fragment
  /** The fields as JSON objects. On a hot path write the object yourself: `WireOf` checks its keys. */
  encode(items: Iterable<Row<Of>>): string
  readonly fields: Of
}

/** An item under its whole names. */
export type RowOf<Any> = Any extends Item<infer Of> ? Row<Of> : never

/** An item as JSON.stringify gets it; absent: null. */
export type WireOf<Any> =
  Any extends Item<infer Of>
    ? { -readonly [Name in keyof Of as Of[Name][0]]?: ValueOf<Of[Name][1]> | null | undefined }
    : never

export function defineItem<const Of extends Fields>(fields: Of): Item<Of> {
  const parts = Object.entries(fields).map(([name, [key, type]]) => ({
    ...{ name, key, type: TYPES[type], column: columnNames([name.replace(/[A-Z]/g, toSnake)]) },
    wire: columnNames([key]),
  }))
  return {
    fields,
    columns: listed(parts.map(({ wire, type }) => fragment`${wire} ${type}`)),
    named: (row) => listed(parts.map(({ wire, column }) => fragment`${row}.${wire} AS ${column}`)),
    of: (row) => listed(parts.map(({ column }) => fragment`${row}.${column}`)),
    encode: (items) => {
      const wires: Record<string, unknown>[] = []
      for (const item of items) {
        const wire: Record<string, unknown> = {}
        for (const { name, key } of parts) wire[key] = item[name]
        wires.push(wire)
      }
      return JSON.stringify(wires)
    },
  }
}

function toSnake(letter: string): string {
  return `_${letter.toLowerCase()}`
}
