// Named SQL. A statement is a constant in `store/*.sql.ts`; the name travels as a comment, so that
// pg_stat_activity and the server's log say which one runs, and is the key of the prepared statement.

export interface Sql {
  readonly name: string
  readonly text: string
}

/** Interpolation does not compile: values are parameters. */
export function sql(name: string): (text: TemplateStringsArray, ...values: never[]) => Sql {
  return (text) => Object.freeze({ name, text: `/* ${name} */ ${text.join('').trim()}` })
}
