// One call of the command: finds the intended command, runs it, and turns every failure into a message and an exit
// code.
import { version } from '@carillon/server/process/version.ts'
import { commands } from './commands.ts'
import { createContext } from './context.ts'
import { EXIT, exitCodeOf } from './exit-code.ts'
import { writeCommandHelp, writeGroupHelp, writeHelp } from './help.ts'
import type { Io } from './io.ts'
import { Output } from './output.ts'
import { findCommand, parseCommand, splitCommand } from './parse.ts'

export async function run(argv: readonly string[], io: Io): Promise<number> {
  let out = new Output(io, { json: argv.includes('--json'), wide: false })
  try {
    const { words } = splitCommand(argv)
    const wantsHelp = argv.includes('--help') || argv.includes('-h')
    if (words[0] === 'help') return help(words.slice(1), out)
    if (words.length === 0) {
      if (argv.some((word) => word === '--version' || word === '-v')) out.write(`${version}\n`)
      else out.write(writeHelp(commands))
      return EXIT.ok
    }
    if (wantsHelp && words.length === 1 && isGroup(words[0]!)) return help(words, out)
    const found = findCommand(argv, commands)!
    const parsed = parseCommand(found.command, found.args)
    if (parsed.values.flag('help')) return help(found.command.path, out)
    const context = createContext(found.command, parsed, io)
    out = context.out
    const work = await found.command.load()
    return (await work(context)) ?? EXIT.ok
  } catch (error) {
    // Ctrl-C was meant: there is nothing to say about it.
    if (io.signal.aborted || (error as Error).name === 'AbortError') return EXIT.interrupted
    out.fail(error)
    return exitCodeOf(error)
  }
}

function help(words: readonly string[], out: Output): number {
  if (words.length === 0) out.write(writeHelp(commands))
  else if (words.length === 1 && isGroup(words[0]!)) out.write(writeGroupHelp(words[0]!, commands))
  else out.write(writeCommandHelp(findCommand(words, commands)!.command))
  return EXIT.ok
}

function isGroup(word: string): boolean {
  return commands.some(({ path }) => path[0] === word && path.length > 1)
}
