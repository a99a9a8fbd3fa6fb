// Named SQL. A statement is a constant in `postgres/**/*.sql.ts`; the name travels as a comment, so that
// pg_stat_activity and the server's log say which one runs, and is the key of the prepared statement.

export interface Sql {
  readonly name: string
  readonly text: string
}

/** A piece that several statements share. */
class Fragment {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

export type { Fragment }

/** Interpolation of anything but fragments does not compile: values are parameters. */
export function sql(name: string): (text: TemplateStringsArray, ...parts: Fragment[]) => Sql {
  return (text, ...parts) => Object.freeze({ name, text: `/* ${name} */ ${join(text, parts)}` })
}

export function fragment(text: TemplateStringsArray, ...parts: Fragment[]): Fragment {
  return new Fragment(join(text, parts))
}

/** Column names: words of lower-case letters, so that nothing of a caller gets into a statement. */
export function columnNames(names: readonly string[]): Fragment {
  for (const name of names) if (!/^[a-z_]+$/.test(name)) throw new TypeError(`${name} is no column name`)
  return new Fragment(names.join(', '))
}

/** Texts of our own as literals, for the same reason: plain words, which may end with a space or an exclamation mark. */
export function literals(words: readonly string[]): Fragment {
  for (const word of words) if (!/^[a-z]+[ !]?$/.test(word)) throw new TypeError(`${word} is no plain word`)
  return new Fragment(words.map((word) => `'${word}'`).join(', '))
}

/** One under the other, with commas. */
export function listed(parts: readonly Fragment[]): Fragment {
  return new Fragment(parts.map(({ text }) => text).join(',\n    '))
}

function join(text: TemplateStringsArray, parts: readonly Fragment[]): string {
  return text.reduce((all, piece, index) => all + (parts[index - 1]?.text ?? '') + piece).trim()
}
