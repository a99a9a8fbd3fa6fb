// Rows whose columns have the names of fields: job_id is jobId. A mapper is written out only where names differ, or on a
// hot path, where a loop over the columns would cost more.

type Snake<Name extends string> = Name extends `${infer Head}${infer Tail}`
  ? `${Head extends Lowercase<Head> ? Head : `_${Lowercase<Head>}`}${Snake<Tail>}`
  : ''

/** The row of an object. */
export type Columns<T> = { [Name in keyof T & string as Snake<Name>]: T[Name] }

const fields = new Map<string, string>()

/** Every column of the row becomes a field, so a statement must list its columns. */
export function fromColumns<T>(row: Columns<T>): T {
  const made: Record<string, unknown> = {}
  for (const [column, value] of Object.entries(row)) made[fieldOf(column)] = value
  return made as T
}

function fieldOf(column: string): string {
  let field = fields.get(column)
  if (field === undefined) {
    field = column.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
    fields.set(column, field)
  }
  return field
}
