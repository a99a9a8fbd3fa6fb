// npm run bench -- graph [--quick]: the cost of a graph node compared with a plain execution. Windows of each kind take
// turns on one server. Each starts with a slot, calls a target that answers at once, and has about as many executions.
import { type Carillon, makeDataDir, startCarillon } from './carillon.ts'
import { wait } from './load.ts'
import { figure, table } from './output.ts'
import { measureTree } from './process-tree.ts'
import { type Arrival, startTarget, type Target } from './target.ts'

/** Nodes in the middle of a fan, which also has one node before and one behind them. */
const fanWidth = 100
const chainLength = 100
const requestsAtOnce = 16
/** From the last job that was told its slot to that slot. */
const leadMs = 3_000
const tellMsMax = 10

interface Kind {
  name: string
  metric: string
  executions: number
  /** Jobs that start the window with their slot. */
  roots: readonly string[]
}

interface Window {
  perS: number
  cpuUs: number
  spanMs: number
}

export async function run({ quick }: { quick: boolean }): Promise<void> {
  const graphs = quick ? 5 : 20
  const rounds = quick ? 3 : 7
  await using dataDir = await makeDataDir()
  await using carillon = await startCarillon(dataDir.path)
  await using target = await startTarget()
  const kinds = await createKinds(carillon, target, graphs)
  await wait(2_000)
  const idle = await measureIdle(carillon)
  const windows = new Map(kinds.map((kind): [Kind, Window[]] => [kind, []]))
  // The first round is not counted: it fills caches.
  for (let round = 0; round <= rounds; round++) {
    for (const kind of round % 2 === 0 ? kinds : kinds.toReversed()) {
      const window = await measureWindow(carillon, target, kind, idle)
      if (round > 0) windows.get(kind)!.push(window)
    }
  }
  report(windows)
}

async function createKinds(carillon: Carillon, target: Target, graphs: number): Promise<Kind[]> {
  const create = createCreator(carillon, target)
  const plain = Array.from({ length: graphs * (fanWidth + 2) }, (_, index) => index)
  const createFastPath = (changes: object) => inTurn(plain, (index) => create(`plain ${index}`, [], changes))
  const chain = async (index: number) => {
    const root = await create(`chain ${index}`, [])
    let last = root
    for (let place = 1; place < chainLength; place++) last = await create(`chain ${index} ${place}`, [last])
    return root
  }
  const fan = async (index: number) => {
    const root = await create(`fan ${index}`, [])
    const between: string[] = []
    for (let place = 0; place < fanWidth; place++) between.push(await create(`fan ${index} ${place}`, [root]))
    await create(`fan ${index} end`, between)
    return root
  }
  const numbers = Array.from({ length: graphs }, (_, index) => index)
  const executions = plain.length
  const ownRows = { execution: { total_timeout_seconds: 600 } }
  return [
    { name: 'plain executions', metric: 'plain', executions, roots: await createFastPath({}) },
    { name: 'plain, rows of their own', metric: 'rows', executions, roots: await createFastPath(ownRows) },
    {
      name: `nodes of ${graphs} fans of ${fanWidth}`,
      metric: 'fan',
      executions,
      roots: await inTurn(numbers, fan),
    },
    {
      name: `nodes of ${graphs} chains of ${chainLength}`,
      metric: 'chain',
      executions: graphs * chainLength,
      roots: await inTurn(numbers, chain),
    },
    {
      name: 'nodes of one chain alone',
      metric: 'lone',
      executions: chainLength,
      roots: [await chain(graphs)],
    },
  ]
}

function createCreator(carillon: Carillon, target: Target) {
  let created = 0
  return async (
    name: string,
    parents: readonly string[],
    { execution = {} }: { execution?: object } = {},
  ) => {
    const { job_id } = await send<{ job_id: string }>(carillon, 'POST', '/jobs', {
      name,
      overlap_policy: 'ALLOW',
      execution: { callback_url: `${target.url}/${created++ % 100}`, ...execution },
      ...(parents.length === 0
        ? { schedule: '@yearly' }
        : { depends_on: parents.map((parent) => ({ job_id: parent })) }),
    })
    return job_id
  }
}

/** So many at once, with the answers in their order. */
async function inTurn<T, R>(list: readonly T[], act: (one: T) => Promise<R>): Promise<R[]> {
  const answers: R[] = []
  const left = list.entries()
  const follow = async () => {
    for (const [index, one] of left) answers[index] = await act(one)
  }
  await Promise.all(Array.from({ length: requestsAtOnce }, follow))
  return answers
}

/** CPU seconds a second while nothing happens. */
async function measureIdle({ child }: Carillon): Promise<number> {
  const seconds = 5
  const before = measureTree(child.pid!).cpuSeconds
  await wait(seconds * 1_000)
  return (measureTree(child.pid!).cpuSeconds - before) / seconds
}

async function measureWindow(
  carillon: Carillon,
  target: Target,
  { executions, roots }: Kind,
  idle: number,
): Promise<Window> {
  const slotMs = Math.ceil((Date.now() + roots.length * tellMsMax + leadMs) / 1_000) * 1_000
  const schedule = { type: 'ONE_TIME', scheduled_time: new Date(slotMs).toISOString() }
  await inTurn(roots, (jobId) => send(carillon, 'PATCH', `/jobs/${jobId}`, { schedule }))
  if (Date.now() > slotMs - 1_000) throw new Error('the jobs were told their slot too late')
  await wait(slotMs - 500 - Date.now())
  await target.take()
  const pid = carillon.child.pid!
  const before = measureTree(pid).cpuSeconds
  const startedMs = performance.now()
  const arrivals: Arrival[] = []
  while (arrivals.length < executions) {
    await wait(20)
    arrivals.push(...(await target.take()))
  }
  await untilOver(carillon)
  const seconds = (performance.now() - startedMs) / 1_000
  const cpuSeconds = measureTree(pid).cpuSeconds - before - idle * seconds
  const distinct = new Set(arrivals.map(({ executionId }) => executionId)).size
  if (distinct !== executions || arrivals.length !== executions)
    throw new Error(`${arrivals.length} calls of ${distinct} executions instead of ${executions}`)
  const times = arrivals.map(({ atMs }) => atMs).toSorted((a, b) => a - b)
  const spanMs = times.at(-1)! - times[0]!
  return { perS: (executions / spanMs) * 1_000, cpuUs: (cpuSeconds * 1e6) / executions, spanMs }
}

/** Waits until ended executions are on record and graph runs are over. */
async function untilOver(carillon: Carillon): Promise<void> {
  const open = '/graph-runs?status=RUNNING&limit=1'
  while ((await send<{ graph_runs: object[] }>(carillon, 'GET', open)).graph_runs.length > 0) await wait(20)
  await wait(500)
}

function report(windows: ReadonlyMap<Kind, readonly Window[]>): void {
  const medianOf = (list: readonly Window[], pick: (window: Window) => number) =>
    list.map(pick).toSorted((a, b) => a - b)[Math.floor(list.length / 2)]!
  const rows: Record<string, unknown>[] = []
  let plainUs = Number.NaN
  for (const [{ name, metric, executions }, list] of windows) {
    const [perS, cpuUs, spanMs] = [
      medianOf(list, (window) => window.perS),
      medianOf(list, (window) => window.cpuUs),
      medianOf(list, (window) => window.spanMs),
    ]
    if (metric === 'plain') plainUs = cpuUs
    const hopMs = spanMs / (chainLength - 1)
    const isChain = metric === 'chain' || metric === 'lone'
    rows.push({
      window: name,
      executions,
      'per s': perS.toFixed(0),
      'CPU each, PostgreSQL included': `${cpuUs.toFixed(0)} µs`,
      'against plain': `${(cpuUs / plainUs).toFixed(2)} ×`,
      'from node to node': isChain ? `${hopMs.toFixed(1)} ms` : '',
    })
    figure({
      bench: 'graph',
      metric: `${metric}_cpu`,
      value: cpuUs,
      unit: 'µs',
      ratio: cpuUs / plainUs,
      against: 'plain',
    })
    figure({ bench: 'graph', metric: `${metric}_per_s`, value: perS, unit: '1/s' })
    if (isChain) figure({ bench: 'graph', metric: `${metric}_hop`, value: hopMs, unit: 'ms' })
  }
  table(rows)
}

async function send<T>({ url, key }: Carillon, method: string, path: string, body?: object): Promise<T> {
  const response = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      'if-match': '*',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
  return (await response.json()) as T
}
