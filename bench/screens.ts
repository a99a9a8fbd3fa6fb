// npm run bench -- screens [--quick]: how long every list and every call of the dashboard takes, and how much it sends, in the
// demo world scaled to 100,000 jobs and 10 million attempts (--quick: 10,000 and 1 million), while its jobs go on. With
// BENCH_DATA the world is made there, or found there, and kept.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeDataDir } from './carillon.ts'
import { requireDisk } from './disk.ts'
import { figure, say, table } from './output.ts'

const port = Number(process.env['CARILLON_PORT'] ?? 17_420)
const callsEach = 20
const connections = 16
const goalMs = 200
const fillMsMax = 3_600_000
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const hourMs = 3_600_000
const dayMs = 24 * hourMs

interface Screen {
  screen: string
  path: string
}

export async function run({ quick }: { quick: boolean }): Promise<void> {
  const jobs = quick ? 10_000 : 100_000
  const attempts = quick ? 1_000_000 : 10_000_000
  await requireDisk(quick ? 3 : 20)
  const kept = process.env['BENCH_DATA']
  await using made = kept === undefined ? await makeDataDir() : null
  const dataDir = kept ?? made!.path
  const startedMs = performance.now()
  await using server = await start(dataDir, { jobs, attempts })
  say(`the world was there after ${((performance.now() - startedMs) / 1_000).toFixed(0)} s`)
  const key = (await readFile(join(dataDir, 'api-key'), 'utf8')).trim()
  const get = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
      headers: { authorization: `Bearer ${key}` },
    })
    const bytes = (await response.arrayBuffer()).byteLength
    if (response.status !== 200) throw new Error(`${path} answered ${response.status}`)
    return bytes
  }
  const read = async <T>(path: string): Promise<T> => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
      headers: { authorization: `Bearer ${key}` },
    })
    return (await response.json()) as T
  }
  const rows = []
  for (const { screen, path } of await listScreens(read)) {
    const times: number[] = []
    const askedMs = performance.now()
    let bytes = await get(path)
    const first = performance.now() - askedMs
    // Each connection of the server plans a statement once; the first call has shown the cost of that.
    await Promise.all(Array.from({ length: connections }, () => get(path)))
    for (let i = 0; i < callsEach; i++) {
      const sentMs = performance.now()
      bytes = await get(path)
      times.push(performance.now() - sentMs)
    }
    times.sort((a, b) => a - b)
    const [p50, p99] = [times[callsEach / 2]!, times.at(-1)!]
    const call = path
      .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '…')
      .replaceAll(/cursor=[^&]+/g, 'cursor=…')
      .replaceAll(/T\d\d%3A[^&]+/g, '')
    const ok = p99 <= goalMs
    rows.push({ screen, call, p50_ms: round(p50), p99_ms: round(p99), first_ms: round(first), bytes, ok })
    figure({ bench: 'screens', metric: call, value: p99, unit: 'ms' })
  }
  table(rows)
  const slow = rows.filter(({ ok }) => !ok)
  say(
    slow.length === 0
      ? `every call within ${goalMs} ms`
      : `${slow.length} of ${rows.length} above ${goalMs} ms`,
  )
  server.child.kill('SIGTERM')
}

/** Ready is said when the world is filled, which takes minutes. */
async function start(
  dataDir: string,
  { jobs, attempts }: { jobs: number; attempts: number },
): Promise<AsyncDisposable & { child: ChildProcess }> {
  const flags = ['--demo', '--demo-jobs', String(jobs), '--demo-attempts', String(attempts)]
  const child = spawn('npm', ['start', '--', ...flags], {
    cwd: join(import.meta.dirname, '..'),
    env: { ...process.env, CARILLON_DATA: dataDir, CARILLON_PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exit = once(child, 'exit')
  let said = ''
  child.stdout!.on('data', (chunk: Buffer) => {
    said += chunk
    for (const line of String(chunk).split('\n')) if (line.startsWith('Demo:')) say(line)
  })
  const startedMs = performance.now()
  while (!/is ready\.[\s\S]*Ctrl-C/.test(said)) {
    if (child.exitCode !== null) throw new Error(`npm start ended with ${child.exitCode}`)
    if (performance.now() - startedMs > fillMsMax) throw new Error('not filled within an hour')
    await pause(200)
  }
  return {
    child,
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM')
      await exit
    },
  }
}

type Read = <T>(path: string) => Promise<T>
type Page<Name extends string, Item> = Record<Name, Item[]> & { pagination: { next_cursor: string | null } }

/** The requests of the dashboard screens, with every filter they have. */
async function listScreens(read: Read): Promise<Screen[]> {
  const now = Date.now()
  const at = (agoMs: number) => encodeURIComponent(new Date(now - agoMs).toISOString())
  const day = (agoMs: number) => new Date(now - agoMs).toISOString().slice(0, 10)
  // A search looks at so many jobs at a time, and says where to go on.
  const find = async (q: string) => {
    for (let cursor = ''; ; ) {
      const page = await read<Page<'jobs', { job_id: string }>>(
        `/jobs?q=${encodeURIComponent(q)}&limit=1${cursor}`,
      )
      if (page.jobs[0] !== undefined) return page.jobs[0].job_id
      if (page.pagination.next_cursor === null) throw new Error(`there is no job ${q}`)
      cursor = `&cursor=${encodeURIComponent(page.pagination.next_cursor)}`
    }
  }
  const [busy, calm, inner] = [
    await find('copy busy'),
    await find('copy calm'),
    await find('load the warehouse'),
  ]
  const executions = await read<Page<'executions', { execution_id: string }>>('/executions?limit=50')
  const failed = await read<Page<'executions', { execution_id: string }>>('/executions?status=FAILED&limit=1')
  const runs = await read<Page<'graph_runs', { graph_run_id: string }>>('/graph-runs?limit=1')
  const letters = await read<Page<'dead_letters', { execution_id: string }>>('/dead-letters?limit=50')
  const jobs = await read<Page<'jobs', object>>('/jobs?limit=50')
  const cursorOf = (page: { pagination: { next_cursor: string | null } }) =>
    encodeURIComponent(page.pagination.next_cursor ?? '')
  const one = executions.executions[0]!.execution_id
  const paths: Record<string, readonly string[]> = {
    Now: [
      '/sla?window=1h',
      `/activity?step=minute&from=${at(hourMs)}&to=${at(0)}`,
      `/activity?step=minute&from=${at(dayMs - 60_000)}&to=${at(0)}`,
      '/jobs?health=FAILING&limit=20',
      '/jobs?health=FLAKY&limit=10',
      '/failures?minutes=60&limit=20',
      '/late?minutes=60&limit=50',
      '/forecast?hours=24',
      '/executions?status=RUNNING&limit=20',
    ],
    Executions: [
      '/executions?limit=50',
      `/executions?limit=50&cursor=${cursorOf(executions)}`,
      ...['PENDING', 'RUNNING', 'RETRYING', 'SUCCEEDED', 'FAILED', 'TIMED_OUT', 'CANCELLED'].map(
        (status) => `/executions?limit=50&status=${status}`,
      ),
      ...['slot', 'trigger', 'redrive', 'backfill', 'dependency'].map(
        (kind) => `/executions?limit=50&kind=${kind}`,
      ),
      '/executions?limit=50&error_type=HTTP_ERROR',
      '/executions?limit=50&error_type=TIMEOUT',
      '/executions?limit=50&dead_letter=true',
      '/executions?limit=50&tag=team-07',
      '/executions?limit=50&tag=billing',
      '/executions?limit=50&q=copy%20calm%20000123',
      '/executions?limit=50&q=garamond',
      `/executions?limit=50&job_id=${busy}`,
      `/executions?limit=50&job_id=${calm}&status=FAILED`,
      `/executions?limit=50&start_date=${day(0)}&end_date=${day(0)}`,
      `/executions?limit=50&start_date=${day(20 * dayMs)}&end_date=${day(20 * dayMs)}`,
      `/executions?limit=50&start_date=${day(29 * dayMs)}&end_date=${day(28 * dayMs)}&status=FAILED`,
    ],
    Execution: [
      `/executions/${one}`,
      `/executions/${failed.executions[0]!.execution_id}`,
      `/executions/${one}/logs?limit=1000`,
    ],
    Jobs: [
      '/jobs?limit=100&sort=failing_first',
      '/jobs?limit=100&sort=failing_first&q=garamond',
      '/jobs?limit=100&health=FAILING&tag=team-07',
      '/jobs?limit=50',
      `/jobs?limit=50&cursor=${cursorOf(jobs)}`,
      '/jobs?limit=50&page=200',
      ...['ACTIVE', 'PAUSED', 'COMPLETED', 'DELETED'].map((status) => `/jobs?limit=50&status=${status}`),
      '/jobs?limit=50&tag=team-07',
      '/jobs?limit=50&tag=nothing-has-this',
      '/jobs?limit=50&q=copy%20calm%20098765',
      '/jobs?limit=8&q=nothing-has-this',
      '/jobs?limit=50&status=PAUSED&tag=team-07&q=calm',
    ],
    Job: [
      `/jobs/${busy}`,
      `/jobs/${calm}`,
      `/jobs/${busy}/executions?limit=50`,
      `/jobs/${busy}/executions?limit=50&status=FAILED`,
      `/jobs/${busy}/slots?limit=100`,
      `/jobs/${busy}/slots?limit=100&from=${day(20 * dayMs)}&to=${day(13 * dayMs)}`,
      `/jobs/${busy}/why`,
      `/jobs/${busy}/versions?limit=50`,
      `/jobs/${busy}/graph`,
      `/jobs/${inner}/graph`,
      `/activity?step=hour&job_id=${busy}&from=${at(7 * dayMs)}&to=${at(0)}`,
      `/activity?step=day&job_id=${busy}&from=${at(366 * dayMs)}&to=${at(0)}`,
    ],
    Calendar: [
      `/activity?step=hour&from=${at(31 * dayMs)}&to=${at(0)}`,
      '/forecast?hours=24',
      '/jobs?limit=30&status=ACTIVE',
      '/calendars?limit=50',
    ],
    Graphs: [
      '/graph-runs?limit=50',
      '/graph-runs?limit=50&status=FAILED',
      `/graph-runs?limit=50&job_id=${inner}`,
      `/graph-runs/${runs.graph_runs[0]!.graph_run_id}`,
    ],
    'Dead letters': [
      '/dead-letters?limit=50',
      `/dead-letters?limit=50&cursor=${cursorOf(letters)}`,
      '/dead-letters?limit=50&error_type=TIMEOUT',
      '/dead-letters?limit=50&reason=NOT_RETRYABLE',
      `/dead-letters?limit=50&job_id=${busy}`,
      `/dead-letters/${letters.dead_letters[0]!.execution_id}`,
      '/dead-letters/clusters?limit=50',
    ],
    SLA: ['1h', '24h', '7d', '30d'].map((window) => `/sla?window=${window}`),
    Workers: ['/workers', '/partitions'],
    Settings: ['/api-keys?limit=50', '/tenants?limit=200', '/operations?limit=50'],
  }
  return Object.entries(paths).flatMap(([screen, calls]) => calls.map((path) => ({ screen, path })))
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10
}
