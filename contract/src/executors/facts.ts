// The facts of a kind of executor: its fields, and the texts of the schema, the CLI and the job form about them. Plain
// data without a schema library, so that the dashboard loads it too.

interface AnyField {
  isRequired?: true
  /** In the schema of a request, after the name of the kind. Absent: the name says it all. */
  about?: string
  /** Of a list or of pairs: names and values together, in UTF-8. */
  bytesMax?: number
  /** The option of the CLI. Absent: only a file or the API sets the field. */
  flag?: { name: string; value: string; about: string; completes?: 'file' }
  /** The input of the job form; a list of lines and pairs have a hint anyway. `{origin}` stands for the address of the dashboard. */
  input: { label: string; placeholder?: string; hint?: string; rows?: number; isCode?: true }
}

/** One text. `keywords`, `shown`: of its schema in a request and in a reply. */
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
  /** The required field that says in a few words which thing is called. */
  target: Target
  /** The description of the target in the reply of an execution; null: every execution has it. */
  targetAbout: string | null
  fields: Fields
  /** The rows of the job form; each field is in one of them. */
  rows: readonly (readonly (keyof Fields)[])[]
  /** The call in a line. */
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

/** Returns them as they are, with the names of the fields in their type. */
export function defineFacts<const Fields extends FieldsByName, Target extends keyof Fields & string>(
  facts: ExecutorFacts<Fields, Target>,
): ExecutorFacts<Fields, Target> {
  return facts
}
