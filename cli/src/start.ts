// `carillon start`: the server in the foreground, until it is stopped.
import { resolve } from 'node:path'
import { checkoutDir } from '@carillon/server/config/read.ts'
import { runServer } from '@carillon/server/process/main.ts'
import type { Context } from './context.ts'

export async function start({ values }: Context): Promise<never> {
  // An installed package is replaced as a whole by the next install: data must not lie in it.
  if (checkoutDir.includes('node_modules')) process.env['CARILLON_DATA'] ||= resolve('.carillon')
  const handlers = values.text('handlers')
  const [jobs, attempts] = [values.number('demo-jobs'), values.number('demo-attempts')]
  const size =
    jobs === undefined && attempts === undefined ? null : { jobs: jobs ?? 40, attempts: attempts ?? 0 }
  const options = {
    ...(handlers !== undefined && { handlers }),
    ...((values.flag('demo') || size !== null) && { demo: { size } }),
  }
  // Everything has stopped by then; a connection to a database that hangs must not keep us.
  process.exit(await runServer(options))
}
