// From the words of a command line to a command, its arguments and its options. Built on node:util parseArgs, which
// says where each word belongs; validity is checked here, so that a refusal can suggest the intended word.
import { parseArgs } from 'node:util'
import { didYouMean } from '@carillon/server/lib/did-you-mean.ts'
import { type Command, globalOptions, type OptionSpec, type OptionSpecs, optionsOf } from './command.ts'
import { CliError, EXIT } from './exit-code.ts'

export interface ParsedArguments {
  args: readonly string[]
  values: Values
}

type Value = string | true | string[]

/** Options by name. To ask for one that the command does not have is a bug. */
export class Values {
  readonly #specs: OptionSpecs
  readonly #given: ReadonlyMap<string, Value>

  constructor(specs: OptionSpecs, given: ReadonlyMap<string, Value>) {
    this.#specs = specs
    this.#given = given
  }

  has(name: string): boolean {
    if (this.#specs[name] === undefined) throw new Error(`The command has no option --${name}.`)
    return this.#given.has(name)
  }

  flag(name: string): boolean {
    return this.has(name)
  }

  text(name: string): string | undefined {
    const value = this.has(name) ? this.#given.get(name) : undefined
    return typeof value === 'string' ? value : undefined
  }

  number(name: string): number | undefined {
    const text = this.text(name)
    return text === undefined ? undefined : Number(text)
  }

  list(name: string): readonly string[] {
    const value = this.has(name) ? this.#given.get(name) : undefined
    return Array.isArray(value) ? value : []
  }

  /** The texts that were given, each under the field of the API that it stands for. */
  fields<Query>(names: Readonly<Record<string, string>>): Query {
    const given = Object.keys(names).filter((name) => this.text(name) !== undefined)
    return Object.fromEntries(given.map((name) => [names[name], this.text(name)])) as Query
  }

  /** The subset of `names` that was given. */
  given(names: Iterable<string>): string[] {
    return [...names].filter((name) => this.has(name))
  }
}

/** The words of the command, wherever options stand between them, and the remaining arguments. */
export function splitCommand(argv: readonly string[]): { words: string[]; rest: string[]; index: number[] } {
  const words: string[] = []
  const index: number[] = []
  for (let i = 0; i < argv.length; i++) {
    const word = argv[i]!
    if (word === '--') break
    if (!word.startsWith('-') || word === '-') {
      words.push(word)
      index.push(i)
      continue
    }
    const name = word.replace(/^--?/, '')
    if (takesValue(globalOptions[name]) && !word.includes('=')) i++
  }
  return { words, rest: [...argv], index }
}

export interface Found {
  command: Command
  /** Without the words of the command. */
  args: string[]
}

/** Null: no command was given at all. */
export function findCommand(argv: readonly string[], commands: readonly Command[]): Found | null {
  const { words, index } = splitCommand(argv)
  if (words.length === 0) return null
  const command = commands
    .filter(({ path }) => path.every((word, i) => words[i] === word))
    .toSorted((a, b) => b.path.length - a.path.length)[0]
  if (command === undefined) return refuseWords(words, commands)
  const own = new Set(index.slice(0, command.path.length))
  return { command, args: argv.filter((_, i) => !own.has(i)) }
}

function refuseWords([first, second]: string[], commands: readonly Command[]): never {
  const shown = commands.filter(({ hidden }) => hidden !== true)
  const group = shown.filter(({ path }) => path[0] === first && path.length > 1)
  if (group.length > 0) {
    const verbs = group.map(({ path }) => path[1]!)
    const said =
      second === undefined ? `missing subcommand after ${first}` : `there is no "${first} ${second}".`
    const near = second === undefined ? '' : didYouMean(second, verbs, `carillon ${first} `)
    throw new CliError(EXIT.usage, `${said}${near}`, [
      `It is one of ${verbs.join(', ')}. Try carillon ${first} --help`,
    ])
  }
  const names = new Set(shown.map(({ path }) => path[0]!))
  throw new CliError(
    EXIT.usage,
    `there is no command ${JSON.stringify(first)}.${didYouMean(first!, names, 'carillon ')}`,
    ['Try carillon --help'],
  )
}

export function parseCommand(command: Command, argv: readonly string[]): ParsedArguments {
  const specs = optionsOf(command)
  const where = `carillon ${command.path.join(' ')}`
  const fail = (message: string): never => {
    throw new CliError(EXIT.usage, `${command.path.join(' ')}: ${message}`, [`Try ${where} --help`])
  }
  const { tokens } = parseArgs({
    args: joinOptionalValues(argv, specs),
    strict: false,
    allowPositionals: true,
    tokens: true,
    options: Object.fromEntries(
      Object.entries(specs).flatMap(([name, spec]) => {
        const type = takesValue(spec) ? ('string' as const) : ('boolean' as const)
        const plain = spec.short === undefined ? { type } : { type, short: spec.short }
        return [[name, plain], ...(spec.alias === undefined ? [] : [[spec.alias, { type }] as const])]
      }),
    ),
  })
  const names = Object.keys(specs)
  const aliases = new Map(Object.entries(specs).map(([name, { alias }]) => [alias, name]))
  const given = new Map<string, Value>()
  const args: string[] = []
  for (const token of tokens) {
    if (token.kind === 'positional') args.push(token.value)
    if (token.kind !== 'option') continue
    const name = specs[token.name] === undefined ? (aliases.get(token.name) ?? token.name) : token.name
    const spec = specs[name]
    if (spec === undefined)
      return fail(`there is no option ${token.rawName}.${didYouMean(token.name, names, '--')}`)
    if (!takesValue(spec)) {
      if (token.value !== undefined && spec.kind !== 'maybe') fail(`${token.rawName} takes no value.`)
      if (token.value !== undefined) checkNumber(name, token.value, fail)
      given.set(name, token.value ?? true)
      continue
    }
    const value = token.value
    if (value === undefined || (!token.inlineValue && /^-./.test(value) && !/^-\d/.test(value)))
      return fail(`${token.rawName} needs a value${value === undefined ? '.' : `; write --${name}=${value}`}`)
    const chosen = spec.choices === undefined ? value : choose(name, value, spec.choices, fail)
    if (spec.kind === 'number') checkNumber(name, value, fail)
    if (spec.kind === 'list') given.set(name, [...((given.get(name) as string[]) ?? []), chosen])
    else given.set(name, chosen)
  }
  const values = new Values(specs, given)
  if (!values.flag('help')) checkArguments(command, args, fail)
  return { args, values }
}

function takesValue(spec: OptionSpec | undefined): boolean {
  return spec !== undefined && spec.kind !== 'flag' && spec.kind !== 'maybe'
}

// `--watch 5` means five seconds; parseArgs knows no optional values.
function joinOptionalValues(argv: readonly string[], specs: OptionSpecs): string[] {
  const joined: string[] = []
  for (let i = 0; i < argv.length; i++) {
    const word = argv[i]!
    if (word === '--') return [...joined, ...argv.slice(i)]
    const next = argv[i + 1]
    const isMaybe = word.startsWith('--') && specs[word.slice(2)]?.kind === 'maybe'
    if (isMaybe && next !== undefined && /^\d+(\.\d+)?$/.test(next)) {
      joined.push(`${word}=${next}`)
      i++
    } else joined.push(word)
  }
  return joined
}

type Fail = (message: string) => never

function choose(name: string, value: string, choices: readonly string[], fail: Fail): string {
  const plain = (text: string) => text.toLowerCase().replaceAll('-', '_')
  const found = choices.find((one) => plain(one) === plain(value))
  return found ?? fail(`--${name} is one of ${choices.join(', ')}.${didYouMean(value, choices)}`)
}

function checkNumber(name: string, value: string, fail: Fail): void {
  if (!/^-?\d+(\.\d+)?$/.test(value)) fail(`--${name} is a number, not ${JSON.stringify(value)}.`)
}

function checkArguments(command: Command, args: readonly string[], fail: Fail): void {
  const wanted = command.arguments ?? []
  const needed = wanted.filter(({ optional }) => optional !== true)
  if (args.length < needed.length) fail(`say which ${needed[args.length]!.name}.`)
  const hasMany = wanted.some(({ many }) => many === true)
  if (args.length > wanted.length && !hasMany)
    fail(`unexpected argument ${JSON.stringify(args[wanted.length])}.`)
  wanted.forEach(({ name, choices }, i) => {
    const value = args[i]
    if (choices === undefined || value === undefined || choices.includes(value)) return
    fail(`${name} is one of ${choices.join(', ')}.${didYouMean(value, choices)}`)
  })
}
