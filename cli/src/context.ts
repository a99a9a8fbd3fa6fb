// The context of a command: its arguments and options, where to write, and a connection when it asks for one.
import type { Command } from './command.ts'
import { type Connection, connect } from './connection.ts'
import type { Io } from './io.ts'
import { Output } from './output.ts'
import type { ParsedArguments, Values } from './parse.ts'

export interface Context {
  io: Io
  out: Output
  args: readonly string[]
  values: Values
  /** Ends with Ctrl-C. */
  signal: AbortSignal
  /** Made at the first call. */
  connect(): Promise<Connection>
}

export function createContext(command: Command, { args, values }: ParsedArguments, io: Io): Context {
  let connection: Promise<Connection> | null = null
  return {
    io,
    out: new Output(io, {
      json: values.flag('json'),
      wide: command.shows === true && values.flag('wide'),
    }),
    args,
    values,
    signal: io.signal,
    connect: () => {
      connection ??= connect(values, io)
      return connection
    },
  }
}
