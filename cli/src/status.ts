// `carillon status`: readiness of the server, and its workers. Needs no key for the first half.
import type { WorkerList } from '@carillon/contract/worker.ts'
import { createClient } from '@carillon/sdk'
import { readAddress, readProvenAddress } from './connection.ts'
import type { Context } from './context.ts'
import { EXIT } from './exit-code.ts'
import { present } from './present.ts'
import type { ColumnOf } from './table.ts'
import { statusCell } from './tone.ts'

const columns: readonly ColumnOf<WorkerList['workers'][number]>[] = [
  { title: 'WORKER ID', cell: (worker) => worker.worker_id },
  {
    title: 'HOST',
    flexible: true,
    cell: ({ host, port }) => (port === null ? host : `${host}:${port}`),
  },
  { title: 'STATUS', cell: (worker) => statusCell(worker.status) },
  { title: 'LOAD', align: 'right', cell: (worker) => String(worker.current_load) },
  { title: 'CAPACITY', align: 'right', cell: (worker) => String(worker.capacity) },
  { title: 'RUNS', flexible: true, cell: ({ executors, handlers }) => [...executors, ...handlers].join(',') },
]

export async function showStatus(context: Context): Promise<number | undefined> {
  const { out, values, io, signal } = context
  const { url } = await readAddress(values, io)
  let isReady = false
  await present(context, async () => {
    // No retries: a status request should report at once that the server is away.
    const { status, version, roles, checks } = await createClient({ url, retries: 0 }).ready({ signal })
    isReady = status === 'ready'
    const { key } = await readProvenAddress(values, io)
    const workers =
      key === null ? [] : (await createClient({ url, key, retries: 0 }).workers.list({}, { signal })).workers
    const head = out.paint(isReady ? 'ready' : 'not ready', isReady ? 'good' : 'bad')
    const lines = Object.entries(checks).map(([name, state]) => `  ${name}: ${state}\n`)
    const table = workers.length === 0 ? '' : out.table(columns, workers, Date.now())
    return {
      json: { url, status, version, roles, checks, ...(key === null ? {} : { workers }) },
      text: () =>
        `${head}  Carillon ${version} at ${url}, roles ${roles.join(', ')}\n${lines.join('')}${table && out.terminal ? '\n' : ''}${table}`,
      say: key === null ? ['With --key KEY it shows the workers, too.'] : [],
    }
  })
  return isReady ? EXIT.ok : EXIT.serverError
}
