// Shows something once, or with `--watch` again and again: redrawn in place on a terminal, one after the other in a pipe.
import type { Context } from './context.ts'
import { CliError, EXIT } from './exit-code.ts'
import { clearBelow, clearRest, clearScreen, hideCursor, home, showCursor } from './screen.ts'
import { wait } from './wait.ts'

export interface Shown {
  /** What `--json` prints. */
  json: unknown
  text: () => string
  /** For people, after it: what to do next, how many more there are. */
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
  try {
    for (;;) {
      const { json, text } = await read()
      // A line of JSON for each look: what a program reads one by one.
      if (out.json) out.write(`${JSON.stringify(json)}\n`)
      else if (redraws) out.write(home + fitScreen(text(), io.stdout.rows ?? 24))
      else out.write(`${text()}\n`)
      await wait(waitMs, signal)
    }
  } finally {
    if (redraws) out.write(showCursor)
  }
}

/** Each line clears what stood behind it, the last one what stood below. */
function fitScreen(text: string, rows: number): string {
  const lines = text.trimEnd().split('\n')
  const fitted =
    lines.length < rows ? lines : [...lines.slice(0, rows - 2), `… ${lines.length - rows + 2} more`]
  return `${fitted.map((line) => `${line}${clearRest}`).join('\n')}\n${clearBelow}`
}
