// `carillon start`: the server in the foreground, until it is stopped.
import { runServer } from '@carillon/server/main.ts'
import type { Context } from './context.ts'

export async function start({ values }: Context): Promise<never> {
  const handlers = values.text('handlers')
  // Everything has stopped by then; a connection to a database that hangs must not keep us.
  process.exit(await runServer(handlers === undefined ? {} : { handlers }))
}
