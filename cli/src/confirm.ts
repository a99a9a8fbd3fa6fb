// Asks before something is done that cannot be undone. Where nobody can be asked, `--yes` must say so.
import type { Context } from './context.ts'
import { CliError, EXIT } from './exit-code.ts'

export async function confirm({ io, values, signal }: Context, question: string): Promise<void> {
  if (values.flag('yes')) return
  if (io.stdin.isTTY !== true || io.stderr.isTTY !== true) {
    throw new CliError(EXIT.usage, `not done, because there is no terminal to confirm: ${question}`, [
      'Add --yes to confirm.',
    ])
  }
  const { createInterface } = await import('node:readline/promises')
  const lines = createInterface({ input: io.stdin as NodeJS.ReadableStream, output: io.stderr })
  // The line editor reads Ctrl-C itself.
  const stop = new AbortController()
  lines.once('SIGINT', () => stop.abort())
  try {
    const answer = await lines.question(`${question} [y/N] `, {
      signal: AbortSignal.any([signal, stop.signal]),
    })
    if (/^y(es)?$/i.test(answer.trim())) return
  } finally {
    lines.close()
  }
  throw new CliError(EXIT.interrupted, 'not confirmed; nothing was done.')
}
