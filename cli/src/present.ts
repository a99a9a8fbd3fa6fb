// Shows something once, or with `--watch` again and again: redrawn in place on a terminal, one after the other in a pipe.
import { stripVTControlCharacters } from 'node:util'
import { ConnectionError } from '@carillon/sdk'
import type { Context } from './context.ts'
import { CliError, EXIT } from './exit-code.ts'
import { clearBelow, clearRest, clearScreen, hideCursor, home, showCursor } from './screen.ts'
import { cut, widthOf } from './text.ts'
import { wait } from './wait.ts'

export interface Shown {
  /** The value that `--json` prints. */
  json: unknown
  text: () => string
  /** For people, after the text: next steps, how many more there are. */
  say?: readonly string[]
}

const watchSecondsDefault = 2
const watchSecondsMin = 0.2

export async function present(context: Context, read: () => Promise<Shown>): Promise<undefined> {
  const { out, values } = context
  if (!values.has('watch')) {
    const { json, text, say = [] } = await read()
    if (out.json) out.writeJson(json)
    else {
      out.write(text())
      if (out.talks) for (const line of say) out.say(line, 'dim')
    }
    return
  }
  const seconds = values.number('watch') ?? watchSecondsDefault
  if (seconds < watchSecondsMin) throw new CliError(EXIT.usage, '--watch is at least 0.2 seconds.')
  await watch(context, read, seconds * 1_000)
}

async function watch({ out, io, signal }: Context, read: () => Promise<Shown>, waitMs: number) {
  const redraws = out.terminal && !out.json
  if (redraws) out.write(hideCursor + clearScreen)
  let shown: Shown | null = null
  let trouble = ''
  try {
    for (;;) {
      try {
        shown = await read()
        trouble = ''
      } catch (error) {
        // A person watching wants to see the server come back.
        if (shown === null || !(error instanceof ConnectionError)) throw error
        trouble = `\n! ${error.message}; trying again\n`
      }
      const { json, text } = shown
      // A line of JSON for each poll, so that a program can read them one by one.
      if (out.json) out.write(trouble === '' ? `${JSON.stringify(json)}\n` : '')
      else if (redraws)
        out.write(home + fitScreen(text() + trouble, io.stdout.columns ?? 80, io.stdout.rows ?? 24))
      else if (trouble === '') out.write(`${text()}\n`)
      await wait(waitMs, signal)
    }
  } finally {
    if (redraws) out.write(showCursor)
  }
}

/** Each line clears the old text behind it, and the last one the old text below. */
function fitScreen(text: string, columns: number, rows: number): string {
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => fitLine(line, columns))
  const fitted =
    lines.length < rows ? lines : [...lines.slice(0, rows - 2), `… ${lines.length - rows + 2} more`]
  return `${fitted.map((line) => `${line}${clearRest}`).join('\n')}\n${clearBelow}`
}

/** A line that wraps would push the others down. Cut, it loses its colours, which have no width. */
function fitLine(line: string, columns: number): string {
  const plain = stripVTControlCharacters(line)
  return widthOf(plain) <= columns ? line : cut(plain, columns)
}
