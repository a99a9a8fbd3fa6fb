// The facts of a kind of executor: its fields, and the texts of the schema, the CLI and the job form about them. Plain
// data without a schema library, so that the dashboard loads it too.

interface AnyField {
  isRequired?: true
  /** The description of the field in the schema of a request, printed after `KIND: `. Absent: the field needs none. */
  about?: string
  /** The most bytes of a list or of pairs, names and values together, in UTF-8. */
  bytesMax?: number
  /** The option of the CLI. Absent: only a file or the API sets the field. */
  flag?: { name: string; value: string; about: string; completes?: 'file' }
  /** The input of the job form; a list of lines and pairs have a hint anyway. `{origin}` stands for the address of the dashboard. */
  input: { label: string; placeholder?: string; hint?: string; rows?: number; isCode?: true }
}

/** One text. `keywords`: the JSON Schema keywords of the field in a request; `shown`: in a reply. */
type Text = {
  shape: 'text'
  keywords?: object
  shown?: object
  choices?: readonly string[]
  default?: string
}
/** Several texts. `items`: the keywords of each. `separator`: between them in the job form. */
type List = { shape: 'list'; keywords: object; items: object; separator: ', ' | '\n' }
/** Values by name, written but never read back. `ignoresCase`: `Accept` and `accept` are the same name. */
type Pairs = { shape: 'pairs'; bytesMax: number; separator: ':' | '='; ignoresCase?: true }

export type Field = AnyField & (Text | List | Pairs)
export type FieldsByName = Readonly<Record<string, Field>>

export interface ExecutorFacts<Fields extends FieldsByName, Target extends keyof Fields> {
  label: string
  /** The required field that identifies the called thing: an address, a handler, a command, an artifact. */
  target: Target
  /** The description of the target in the reply of an execution; null: every execution has it. */
  targetAbout: string | null
  fields: Fields
  /** The rows of the job form; each field is in one of them. */
  rows: readonly (readonly (keyof Fields)[])[]
  /** The call as one line of text, for people. */
  textOf(shown: { [Name in keyof Fields]?: ValueOf<Fields[Name]> }): string
}

/** The value of a field in a request and in a reply. */
export type ValueOf<F> = F extends { choices: readonly (infer Choice)[] }
  ? Choice
  : F extends { shape: 'list' }
    ? string[]
    : F extends { shape: 'pairs' }
      ? Record<string, string>
      : string

/** Returns `facts` unchanged; its type keeps the literal names of the fields. */
export function defineFacts<const Fields extends FieldsByName, Target extends keyof Fields & string>(
  facts: ExecutorFacts<Fields, Target>,
): ExecutorFacts<Fields, Target> {
  return facts
}
