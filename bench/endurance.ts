// npm run bench -- endurance [--minutes N]: a steady load for half an hour. During its middle third a transaction is
// held open, so that PostgreSQL cannot remove dead rows. The measurements at the end are compared with the ones at the
// beginning: throughput, lateness, dead rows, tables and memory should be unchanged.
import type pg from 'pg'
import { makeDataDir, startCarillon } from './carillon.ts'
import { requireDisk } from './disk.ts'
import { createJobs, wait } from './load.ts'
import { figure, say, table } from './output.ts'
import { connectTo } from './register.ts'
import { serverMemoryMb } from './server-memory.ts'
import { type Arrival, percentile, startTarget, type Target } from './target.ts'

/** Jobs that run every second. */
const due = 1_000
const minutesDefault = 30
const warmUpMs = 15_000
/** An execution that was due in a step and arrives later than this counts as missing. */
const lateMsMax = 5_000
/** The goal for this part of the run, compared with the beginning. */
const goal = 'within 10 %'

interface Step {
  /** Executions a second. */
  perS: number
  p50: number
  p99: number
  missing: number
  deadRows: number
  /** Of everything but history, with indexes. */
  workingMb: number
  workingIndexesMb: number
  /** Attempts and slots: grow with every execution. */
  historyMb: number
  memoryMb: number
  held: boolean
}

export async function run({ minutes }: { minutes: number | null }): Promise<void> {
  const seconds = Math.round((minutes ?? minutesDefault) * 60)
  // A minute each; of a short run sixths.
  const stepS = Math.max(1, Math.min(60, Math.floor(seconds / 6)))
  const count = Math.floor(seconds / stepS)
  await requireDisk(2 + (due * seconds * 2_000) / 1e9)
  await using dataDir = await makeDataDir()
  await using carillon = await startCarillon(dataDir.path)
  await using target = await startTarget()
  await createJobs(carillon, target, due)
  await wait(warmUpMs)
  await using resources = new AsyncDisposableStack()
  const connect = async () => resources.adopt(await connectTo(dataDir.path), (client) => client.end())
  const watcher = await connect()
  const holder = new Holder(await connect())
  say(`${due} jobs due every second, for ${count} steps of ${stepS} s; held: a transaction is open`)
  say(head.map(([name, width]) => name.padStart(width)).join(''))
  const steps: Step[] = []
  await target.take()
  const arrivals = new Arrivals(target, (Math.floor(Date.now() / 1_000) + 1) * 1_000)
  for (let index = 0; index < count; index++) {
    const held = index >= Math.floor(count / 3) && index < Math.floor((2 * count) / 3)
    if (held) await holder.begin()
    else await holder.end()
    const calls = await arrivals.step(stepS)
    const memoryMb = serverMemoryMb(carillon.child.pid!)
    steps.push({ ...calls, ...(await readTables(watcher)), memoryMb, held })
    say(describe(index, steps.at(-1)!))
  }
  await holder.end()
  judge(steps, stepS)
}

/** A transaction that sees the database as it was when it began. */
class Holder {
  readonly #client: pg.Client
  #holds = false

  constructor(client: pg.Client) {
    this.#client = client
  }

  async begin(): Promise<void> {
    if (this.#holds) return
    await this.#client.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
    await this.#client.query('SELECT pg_current_xact_id()')
    this.#holds = true
  }

  /** Fails when it was ended meanwhile: then nothing was measured. */
  async end(): Promise<void> {
    if (!this.#holds) return
    await this.#client.query('SELECT count(*) FROM tenants')
    await this.#client.query('COMMIT')
    this.#holds = false
  }
}

class Arrivals {
  readonly #target: Target
  #fromMs: number
  #kept: Arrival[] = []

  constructor(target: Target, fromMs: number) {
    this.#target = target
    this.#fromMs = fromMs
  }

  /** Measures the next `seconds` seconds, and waits until their late executions have arrived. */
  async step(seconds: number): Promise<Pick<Step, 'perS' | 'p50' | 'p99' | 'missing'>> {
    const toMs = this.#fromMs + seconds * 1_000
    while (Date.now() < toMs + lateMsMax) {
      await wait(1_000)
      this.#kept.push(...(await this.#target.take()))
    }
    const here = this.#kept.filter(({ slotMs }) => slotMs >= this.#fromMs && slotMs < toMs)
    this.#kept = this.#kept.filter(({ slotMs }) => slotMs >= toMs)
    this.#fromMs = toMs
    const executions = new Set(here.map(({ executionId }) => executionId)).size
    if (executions === 0) throw new Error(`no call came for what was due in ${seconds} s`)
    const late = here.map(({ atMs, slotMs }) => atMs - slotMs).toSorted((a, b) => a - b)
    return {
      perS: executions / seconds,
      p50: percentile(late, 0.5),
      p99: percentile(late, 0.99),
      missing: due * seconds - executions,
    }
  }
}

async function readTables(
  client: pg.Client,
): Promise<Pick<Step, 'deadRows' | 'workingMb' | 'workingIndexesMb' | 'historyMb'>> {
  const { rows } = await client.query(
    `SELECT sum(n_dead_tup)::float8 AS "deadRows",
      sum(pg_total_relation_size(relid)) FILTER (WHERE NOT kept)::float8 / 1e6 AS "workingMb",
      sum(pg_indexes_size(relid)) FILTER (WHERE NOT kept)::float8 / 1e6 AS "workingIndexesMb",
      sum(pg_total_relation_size(relid)) FILTER (WHERE kept)::float8 / 1e6 AS "historyMb"
    FROM (SELECT *, relname ~ '^(attempts|slots)_' AS kept FROM pg_stat_user_tables) t`,
  )
  return rows[0]
}

const head: [string, number][] = [
  ['step', 5],
  ['per s', 8],
  ['missing', 9],
  ['p50 ms', 8],
  ['p99 ms', 8],
  ['dead rows', 11],
  ['working tables MB', 19],
  ['of that indexes', 17],
  ['history MB', 12],
  ['server MB', 11],
]

function describe(index: number, step: Step): string {
  const { perS, missing, p50, p99, deadRows, workingMb, workingIndexesMb, historyMb, memoryMb } = step
  const values = [perS, missing, p50, p99, deadRows, workingMb, workingIndexesMb, historyMb, memoryMb]
  const cells = [index + 1, ...values.map((value) => Math.round(value).toLocaleString('en'))]
  return `${cells.map((cell, n) => String(cell).padStart(head[n]![1])).join('')}${step.held ? '  held' : ''}`
}

/** Five minutes at each end; of a short run a sixth. */
function judge(steps: readonly Step[], stepS: number): void {
  const size =
    steps.length * stepS >= 30 * 60 ? Math.ceil(300 / stepS) : Math.max(1, Math.round(steps.length / 6))
  const rows: object[] = []
  const compare = (what: string, metric: string, unit: string, of: (step: Step) => number) => {
    const [first, last] = [mean(steps.slice(0, size).map(of)), mean(steps.slice(-size).map(of))]
    const ratio = last / first
    rows.push({
      what,
      first: first.toFixed(1),
      last: last.toFixed(1),
      'last over first': ratio.toFixed(2),
      'most in between': Math.max(...steps.map(of)).toFixed(1),
      goal,
    })
    figure({ bench: 'endurance', metric, value: last, unit, ratio, against: 'the beginning' })
  }
  say(`first and last: ${size * stepS} s each`)
  compare('executions a second', 'per_s', '1/s', ({ perS }) => perS)
  compare('late by, p50 ms', 'late_p50', 'ms', ({ p50 }) => p50)
  compare('late by, p99 ms', 'late_p99', 'ms', ({ p99 }) => p99)
  compare('dead rows', 'dead_rows', 'rows', ({ deadRows }) => deadRows)
  compare('working tables, MB', 'working_tables', 'MB', ({ workingMb }) => workingMb)
  compare('memory of the server, MB', 'memory', 'MB', ({ memoryMb }) => memoryMb)
  table(rows)
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
