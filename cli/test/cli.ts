// The command in this process: its output and how it ends, with a terminal or without.
import { Readable, Writable } from 'node:stream'
import type { TestContext } from 'node:test'
import { makeDataDir } from '../../server/test/data-dir.ts'
import { Program } from '../../server/test/e2e/program.ts'
import type { Io } from '../src/io.ts'
import { run } from '../src/run.ts'

export interface Call {
  env?: Record<string, string>
  stdin?: string | Iterable<string>
  /** So many columns; absent: a pipe. */
  columns?: number
  /** Typed when it asks; absent: nobody is there to be asked. */
  answer?: string
  /** A keyboard, instead of text. */
  keys?: object
  signal?: AbortSignal
  /** Receives the output on stdout, as it comes. */
  onOut?: (all: string) => void
}

export interface Ending {
  code: number
  out: string
  err: string
}

export async function cli(args: readonly string[], call: Call = {}): Promise<Ending> {
  const texts = { out: '', err: '' }
  const sink = (into: 'out' | 'err') =>
    Object.assign(
      new Writable({
        write(chunk, _encoding, done) {
          texts[into] += String(chunk)
          if (into === 'out') call.onOut?.(texts.out)
          done()
        },
      }),
      call.columns === undefined ? {} : { isTTY: true, columns: call.columns, rows: 24 },
    )
  const { stdin = '', answer } = call
  const input = Readable.from(
    answer !== undefined ? [`${answer}\n`] : typeof stdin === 'string' ? [stdin] : stdin,
  )
  const io: Io = {
    stdin: Object.assign(input, { isTTY: answer !== undefined }, call.keys),
    stdout: sink('out'),
    stderr: sink('err'),
    env: { NO_COLOR: '1', ...call.env },
    signal: call.signal ?? new AbortController().signal,
  }
  const code = await run(args, io)
  return { code, ...texts }
}

export interface Server {
  url: string
  key: string
  dataDir: string
  /** With the address and the key of the server. */
  call: (args: readonly string[], call?: Call) => Promise<Ending>
  /** The same, and its JSON. */
  json: <T>(args: readonly string[], call?: Call) => Promise<T>
}

export async function startServer(t: TestContext, env: Record<string, string> = {}): Promise<Server> {
  const dataDir = await makeDataDir(t)
  const program = new Program(t, { dataDir, env })
  const url = await program.ready()
  const call: Server['call'] = (args, given = {}) =>
    cli(args, { ...given, env: { CARILLON_URL: url, CARILLON_DATA: dataDir, ...given.env } })
  return {
    url,
    key: program.key(),
    dataDir,
    call,
    json: async (args, given) => {
      const { code, out, err } = await call([...args, '--json'], given)
      if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${out}${err}`)
      return JSON.parse(out)
    },
  }
}
