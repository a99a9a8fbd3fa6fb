// A payload on the command line: JSON, `@FILE`, `-` for standard input; anything that is not JSON is a text.
import { readFile } from 'node:fs/promises'
import { CliError, EXIT } from './exit-code.ts'
import { type Io, readStdin } from './io.ts'

export async function readPayload(given: string, io: Pick<Io, 'stdin'>): Promise<unknown> {
  const isFile = given.startsWith('@')
  const text = given === '-' ? await readStdin(io) : isFile ? await readText(given.slice(1)) : given
  try {
    return JSON.parse(text)
  } catch (error) {
    // A text that begins like an object was meant as one.
    if (!isFile && given !== '-' && !/^\s*[[{"]/.test(text)) return text
    throw new CliError(EXIT.usage, `the payload is not valid JSON: ${(error as Error).message}`)
  }
}

export async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw new CliError(EXIT.usage, `cannot read ${file}: ${(error as Error).message}`)
  }
}
