// Help, written from the table of commands.
import { version } from '@carillon/server/process/version.ts'
import { type ArgumentSpec, type Command, isOwnOption, type OptionSpec, optionsOf } from './command.ts'
import { pad } from './text.ts'

const optionWidth = 27
/** Of a plain terminal; a wider one gains nothing from longer lines. */
const helpWidth = 80

export function writeHelp(commands: readonly Command[]): string {
  const shown = commands.filter(({ hidden }) => hidden !== true)
  const groups = [...new Set(shown.map(({ path }) => path[0]!))]
  const lines = groups.map((group) => {
    const members = shown.filter(({ path }) => path[0] === group)
    if (members.length === 1) return row(`carillon ${usageOf(members[0]!)}`, members[0]!.about)
    return row(`carillon ${group} …`, members.map(({ path }) => path[1]).join(', '))
  })
  return `carillon ${version}: a job scheduler that a team runs itself

${lines.join('\n')}

  carillon --version
  carillon COMMAND --help    more about a command: its options and examples

Which server: --url or CARILLON_URL (http://127.0.0.1:7420); --key or
CARILLON_API_KEY (the key of the local data directory). --json prints JSON;
exit codes name the cause: docs/cli.md. Settings of the server are environment
variables: docs/config.md.
`
}

/** Help for a single command, or for all commands that begin with this word. */
export function writeGroupHelp(group: string, commands: readonly Command[]): string {
  const members = commands.filter(({ path, hidden }) => path[0] === group && hidden !== true)
  const lines = members.map((command) => row(`carillon ${usageOf(command)}`, command.about))
  return `${lines.join('\n')}\n\ncarillon ${group} VERB --help says more.\n`
}

export function writeCommandHelp(command: Command): string {
  const { about, arguments: args = [], notes, examples = [] } = command
  const options = Object.entries(optionsOf(command))
  const own = options.filter(([name]) => isOwnOption(command, name))
  const common = options.filter(([name]) => !isOwnOption(command, name))
  const section = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? '' : `\n${title}\n${lines.join('\n')}\n`
  return [
    `${about.charAt(0).toUpperCase()}${about.slice(1)}.\n`,
    `\n  carillon ${usageOf(command)}${own.length > 0 ? ' [options]' : ''}\n`,
    section(
      'Arguments',
      args.map((one) => row(one.name, one.about)),
    ),
    section('Options', own.map(optionRow)),
    section('Common options', common.map(optionRow)),
    notes === undefined ? '' : `\n${notes.trim()}\n`,
    section(
      'Examples',
      examples.map((one) => `  ${one}`),
    ),
  ].join('')
}

function usageOf({ path, arguments: args = [] }: Command): string {
  return [...path, ...args.map(argumentUsage)].join(' ')
}

function argumentUsage({ name, optional, many }: ArgumentSpec): string {
  const text = many === true ? `${name}…` : name
  return optional === true ? `[${text}]` : text
}

function optionRow([name, spec]: readonly [string, OptionSpec]): string {
  const short = spec.short === undefined ? '' : `-${spec.short}, `
  const value = spec.value === undefined ? '' : spec.kind === 'maybe' ? ` [${spec.value}]` : ` ${spec.value}`
  return row(
    `${short}--${name}${value}`,
    spec.kind === 'list' ? `${spec.about} (may be repeated)` : spec.about,
  )
}

function row(left: string, right: string): string {
  const indent = ' '.repeat(optionWidth + 2)
  const lines = wrap(right, helpWidth - indent.length).map((line, i) => (i === 0 ? line : indent + line))
  const text = lines.join('\n')
  return left.length + 2 > optionWidth ? `  ${left}\n${indent}${text}` : `  ${pad(left, optionWidth)}${text}`
}

function wrap(text: string, width: number): string[] {
  const lines = ['']
  for (const word of text.split(' ')) {
    const last = lines.at(-1)!
    if (last !== '' && last.length + 1 + word.length > width) lines.push(word)
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`
  }
  return lines
}
