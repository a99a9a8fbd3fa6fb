// The type of a command: one entry of the table in commands.ts. Help, completion, "did you mean" and the list in
// docs/cli.md are all made from it.
import type { Context } from './context.ts'

/** The kind of value that is expected, so that a shell can complete it. */
export type Completes = 'job' | 'file'

export interface OptionSpec {
  /** flag: no value. maybe: with or without one (`--watch`, `--watch=5`). list: may be given several times. */
  kind: 'flag' | 'text' | 'number' | 'list' | 'maybe'
  about: string
  /** One letter. */
  short?: string
  /** How the value is written in help. */
  value?: string
  /** The only values there are; in any case. */
  choices?: readonly string[]
  /** Another name that is understood. */
  alias?: string
  completes?: Completes
}

export type OptionSpecs = Readonly<Record<string, OptionSpec>>

type More = Partial<OptionSpec>

export function flag(about: string, more: More = {}): OptionSpec {
  return { kind: 'flag', about, ...more }
}

/** An option with a value of this kind. */
const valued =
  (kind: OptionSpec['kind']) =>
  (value: string, about: string, more: More = {}): OptionSpec => ({ kind, value, about, ...more })

export const text = valued('text')
export const number = valued('number')
export const list = valued('list')
const maybe = valued('maybe')

export interface ArgumentSpec {
  name: string
  about: string
  optional?: boolean
  /** May be several. */
  many?: boolean
  choices?: readonly string[]
  completes?: Completes
}

/** The exit code; nothing is 0. */
export type Run = (context: Context) => Promise<number | undefined>

export interface Command {
  /** Its words: `['jobs', 'list']`. */
  path: readonly string[]
  about: string
  arguments?: readonly ArgumentSpec[]
  options?: OptionSpecs
  /** Said in its help, after the options. */
  notes?: string
  examples?: readonly string[]
  /** Asks no server: `--url` and such mean nothing to it. */
  local?: boolean
  /** Shows something again and again with `--watch`, and more of it with `--wide`. */
  shows?: boolean
  /** Not in help. */
  hidden?: boolean
  /** Loaded only when it is called: the whole of the server should not cost `--help` anything. */
  load: () => Promise<Run>
}

const connection: OptionSpecs = {
  url: text('URL', 'address of the server (CARILLON_URL, else http://127.0.0.1:7420)'),
  key: text('KEY', 'an API key (CARILLON_API_KEY, else the key in the local data directory)'),
  tenant: text('TENANT', 'for operators: the tenant to act for, by id or name'),
}
const showing: OptionSpecs = {
  wide: flag('all columns, full texts, exact times'),
  watch: maybe('SECONDS', 'refresh every 2 s, or as given, until Ctrl-C'),
}
const json: OptionSpecs = { json: flag('JSON on stdout, errors included') }
const help: OptionSpecs = { help: flag('this text', { short: 'h' }) }

/** Options that stand before the command, too. */
export const globalOptions: OptionSpecs = { ...connection, ...json, ...help }

/** The command's own options and the shared ones. */
export function optionsOf(command: Command): OptionSpecs {
  return {
    ...command.options,
    ...(command.shows === true ? showing : {}),
    ...(command.local === true ? {} : connection),
    ...json,
    ...help,
  }
}

export function isOwnOption(command: Command, name: string): boolean {
  return command.options?.[name] !== undefined
}
