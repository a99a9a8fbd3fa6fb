// `carillon status`: is it ready, who works. Over HTTP, like any client.
import { parseArgs } from 'node:util'
import { type CarillonError, createClient } from '@carillon/sdk'

const help = `carillon status: ask a running server how it is

  --url URL    where the API answers (http://127.0.0.1:7420)
  --key KEY    an API key, to see the workers too (or the variable CARILLON_API_KEY)

Exit code 0: ready; 1: not ready or no answer.`

export async function runStatus(args: string[]): Promise<number> {
  let values: { url?: string; key?: string; help?: boolean }
  try {
    const options = { url: { type: 'string' }, key: { type: 'string' }, help: { type: 'boolean' } } as const
    values = parseArgs({ args, options }).values
  } catch (error) {
    console.error(`carillon status: ${(error as Error).message}. Try carillon status --help`)
    return 2
  }
  if (values.help) {
    console.log(help)
    return 0
  }
  const url = values.url ?? 'http://127.0.0.1:7420'
  const key = values.key ?? process.env['CARILLON_API_KEY']
  try {
    return await report(url, key)
  } catch (error) {
    console.error(`carillon status: ${(error as CarillonError).message}`)
    return 1
  }
}

async function report(url: string, key: string | undefined): Promise<number> {
  // Whoever asks how it is wants to hear now that it is away.
  const client = createClient({ url, retries: 0, ...(key === undefined ? {} : { key }) })
  const { status, version, roles, checks } = await client.ready()
  console.log(
    `${status === 'ready' ? 'ready' : 'not ready'}  Carillon ${version} at ${url}, roles ${roles.join(', ')}`,
  )
  for (const [name, state] of Object.entries(checks)) console.log(`  ${name}: ${state}`)
  if (key !== undefined) {
    for (const worker of (await client.workers.list()).workers) {
      const { worker_id: id, host, status: state, current_load: load, capacity } = worker
      console.log(`  worker ${id} on ${host}: ${state}, ${load} of ${capacity}`)
    }
  }
  return status === 'ready' ? 0 : 1
}
