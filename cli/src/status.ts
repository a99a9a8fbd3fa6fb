// `carillon status`: readiness of the server, and its workers. Needs no key for the first half.
import { createClient } from '@carillon/sdk'
import { readAddress } from './connection.ts'
import type { Context } from './context.ts'
import { EXIT } from './exit-code.ts'
import { present } from './present.ts'
import type { Column } from './table.ts'
import { statusCell } from './tone.ts'

const columns: readonly Column[] = [
  { title: 'WORKER ID' },
  { title: 'HOST', flexible: true },
  { title: 'STATUS' },
  { title: 'LOAD', align: 'right' },
  { title: 'CAPACITY', align: 'right' },
  { title: 'RUNS', flexible: true },
]

export async function showStatus(context: Context): Promise<number | undefined> {
  const { out, values, io, signal } = context
  const { url, key } = await readAddress(values, io)
  let isReady = false
  await present(context, async () => {
    // No retries: a status request should report at once that the server is away.
    const client = createClient({ url, retries: 0, ...(key === null ? {} : { key }) })
    const { status, version, roles, checks } = await client.ready({ signal })
    isReady = status === 'ready'
    const workers = key === null ? [] : (await client.workers.list({ signal })).workers
    const head = out.paint(isReady ? 'ready' : 'not ready', isReady ? 'good' : 'bad')
    const lines = Object.entries(checks).map(([name, state]) => `  ${name}: ${state}\n`)
    const rows = workers.map((worker) => [
      worker.worker_id,
      worker.host,
      statusCell(worker.status),
      String(worker.current_load),
      String(worker.capacity),
      [...worker.executors, ...worker.handlers].join(','),
    ])
    return {
      json: { url, status, version, roles, checks, ...(key === null ? {} : { workers }) },
      text: () =>
        `${head}  Carillon ${version} at ${url}, roles ${roles.join(', ')}\n${lines.join('')}${rows.length === 0 ? '' : `${out.terminal ? '\n' : ''}${out.table(columns, rows)}`}`,
      say: key === null ? ['With --key KEY it shows the workers, too.'] : [],
    }
  })
  return isReady ? EXIT.ok : EXIT.serverError
}
