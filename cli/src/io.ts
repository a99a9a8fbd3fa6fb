// The streams and the environment that a command runs in: from the process, or from a test.
import type { Writable } from 'node:stream'

export type TerminalOut = Writable & { isTTY?: boolean; columns?: number; rows?: number }

export type TerminalIn = AsyncIterable<Uint8Array | string> & {
  isTTY?: boolean
  setRawMode?(raw: boolean): unknown
  on?(event: 'data', listener: (chunk: Uint8Array | string) => void): unknown
  off?(event: 'data', listener: (chunk: Uint8Array | string) => void): unknown
  pause?(): unknown
  resume?(): unknown
}

export interface Io {
  stdin: TerminalIn
  stdout: TerminalOut
  stderr: TerminalOut
  env: Readonly<Record<string, string | undefined>>
  /** Aborted by Ctrl-C. */
  signal: AbortSignal
}

const inputBytesMax = 16 * 1024 * 1024

/** All of standard input, for `-f -` and `--payload -`. */
export async function readStdin({ stdin }: Pick<Io, 'stdin'>): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of stdin) {
    text += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })
    if (text.length > inputBytesMax) throw new Error('Standard input has more than 16 MiB.')
  }
  return text + decoder.decode()
}
