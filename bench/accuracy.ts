// npm run bench -- accuracy [--quick]: how late executions start when many jobs are due at the same full second, as cron
// has it: at the receiver by the machine's clock, which is the database's, and beside it as history has it. Nothing may
// be early. Without --quick also as many spread over the second by their jitter.
import { dueAtOf } from '@carillon/server/domain/schedule/jitter.ts'
import type { EpochMs } from '@carillon/server/lib/time/epoch.ts'
import type pg from 'pg'
import { makeDataDir, startCarillon } from './carillon.ts'
import { countSlots, registerDue, untilOver, withDatabase } from './due-jobs.ts'
import { wait } from './load.ts'
import type { BenchOptions } from './main.ts'
import { figure, say, table } from './output.ts'
import { firstCalls, type Lateness, latenessOf, startTimedTarget, type TimedTarget } from './timed-target.ts'

interface Load {
  metric: string
  jobs: number
  /** All of them are due together, once in so many seconds: a burst is over before the next one. */
  everyS: number
  /** Then they are spread over so many seconds, each by as much as its id says. */
  jitterSeconds: number
  goalP99Ms: number | null
}

const loads: readonly Load[] = [
  { metric: '100_per_s', jobs: 100, everyS: 1, jitterSeconds: 0, goalP99Ms: null },
  { metric: '1000_per_s', jobs: 1_000, everyS: 1, jitterSeconds: 0, goalP99Ms: 100 },
  { metric: '5000_per_s', jobs: 5_000, everyS: 1, jitterSeconds: 0, goalP99Ms: null },
  { metric: '10000_in_1_s', jobs: 10_000, everyS: 10, jitterSeconds: 0, goalP99Ms: 250 },
]
const spread: Load = {
  metric: '10000_over_1_s',
  jobs: 10_000,
  everyS: 10,
  jitterSeconds: 1,
  goalP99Ms: 250,
}
const tag = 'due'
/** Minimum time from registration to the first slot: schedulers pick up new jobs once a second. */
const leadMs = 3_000
/** In the first seconds code is compiled and connections are opened. */
const warmUpMs = 5_000
/** Maximum wait at the end for late executions. */
const overMsMax = 120_000

interface Result {
  arrived: Lateness
  recorded: Lateness
  early: number
  twice: number
  skipped: number
}

interface Measured {
  fromMs: number
  toMs: number
}

export async function run({ quick }: BenchOptions): Promise<void> {
  const rows: Record<string, unknown>[] = []
  const faults: string[] = []
  for (const load of quick ? loads : [...loads, spread]) {
    const seconds = quick ? (load.everyS === 1 ? 8 : 20) : 60
    const result = await measureLoad(load, seconds)
    rows.push(rowOf(load, result))
    report(load, result)
    if (result.early > 0) faults.push(`${result.early} of ${load.metric} came before their time`)
  }
  table(rows)
  say(
    'late ms: at the receiver; recorded ms: as history has it. Skipped: the one before was still under way.',
  )
  if (faults.length > 0) throw new Error(faults.join('; '))
}

async function measureLoad(load: Load, seconds: number): Promise<Result> {
  const { jobs, everyS, jitterSeconds } = load
  await using dataDir = await makeDataDir()
  await using _carillon = await startCarillon(dataDir.path)
  await using target = await startTimedTarget()
  // Awaited here: otherwise the server and the target would be stopped while still in use.
  return await withDatabase(dataDir.path, async (client) => {
    const everyMs = everyS * 1_000
    const firstMs = Math.ceil((Date.now() + leadMs) / 1_000) * 1_000
    const fromMs = firstMs + Math.max(warmUpMs, everyMs)
    const measured = { fromMs, toMs: fromMs + seconds * 1_000 }
    const lastMs = measured.toMs - everyMs
    const cron = cronEvery(everyS, firstMs)
    const due = { tag, count: jobs, cron, firstMs, lastMs, jitterSeconds, url: target.url }
    await registerDue(client, due)
    if (Date.now() > firstMs) throw new Error('the jobs were registered too late')
    await wait(lastMs + 1_000 - Date.now())
    await untilOver(client, overMsMax)
    return judge(client, target, { ...measured, jitterSeconds, due: (jobs * seconds) / everyS })
  })
}

/** From that slot on once in so many seconds, which a minute can be divided by. */
function cronEvery(everyS: number, firstMs: number): string {
  const first = (firstMs / 1_000) % everyS
  const seconds = Array.from({ length: 60 / everyS }, (_, index) => first + index * everyS)
  return everyS === 1 ? '* * * * * *' : `${seconds.join(',')} * * * * *`
}

async function judge(
  client: pg.Client,
  target: TimedTarget,
  { due, jitterSeconds, ...measured }: Measured & { due: number; jitterSeconds: number },
): Promise<Result> {
  const { fired, skipped } = await countSlots(client, { tag, ...measured })
  const { lateMs, twice } = firstCalls(await target.take(), measured)
  if (fired + skipped !== due || lateMs.size !== fired)
    throw new Error(`${due} were due, ${fired} fired, ${lateMs.size} arrived, ${skipped} were skipped`)
  const arrivedMs: number[] = []
  const recordedMs: number[] = []
  for (const { execution_id: id, job_id: jobId, slot, started } of await readStarts(client, measured)) {
    const dueMs = dueAtOf({ jobId, jitterSeconds }, Number(slot) as EpochMs)
    arrivedMs.push(lateMs.get(id)! + Number(slot) - dueMs)
    recordedMs.push(Number(started) - dueMs)
  }
  if (arrivedMs.length !== fired)
    throw new Error(`of ${fired} that were fired ${arrivedMs.length} are on record`)
  const early = [...arrivedMs, ...recordedMs].filter((ms) => ms < 0).length
  return { arrived: latenessOf(arrivedMs), recorded: latenessOf(recordedMs), early, twice, skipped }
}

interface StartRow {
  execution_id: string
  job_id: string
  slot: string
  started: string
}

async function readStarts(client: pg.Client, { fromMs, toMs }: Measured): Promise<StartRow[]> {
  const { rows } = await client.query<StartRow>(
    `SELECT execution_id, job_id, to_ms(slot) AS slot, to_ms(started_at) AS started FROM attempts
    WHERE attempt = 1 AND slot >= from_ms($1) AND slot < from_ms($2)`,
    [fromMs, toMs],
  )
  return rows
}

function rowOf({ jobs, everyS, jitterSeconds, goalP99Ms }: Load, result: Result): Record<string, unknown> {
  const { arrived, recorded, early, twice, skipped } = result
  const ms = (value: number) => Math.round(value)
  return {
    'due at once': `${jobs.toLocaleString('en')}${jitterSeconds > 0 ? ` over ${jitterSeconds} s` : ''}`,
    every: `${everyS} s`,
    'late ms p50': ms(arrived.p50),
    p99: ms(arrived.p99),
    max: ms(arrived.max),
    'goal p99': goalP99Ms ?? '',
    'recorded ms p50': ms(recorded.p50),
    'p99 ': ms(recorded.p99),
    'max ': ms(recorded.max),
    skipped,
    early,
    'called twice': twice,
  }
}

function report({ metric }: Load, { arrived, recorded, early, skipped }: Result): void {
  for (const name of ['p50', 'p99', 'max'] as const) {
    figure({ bench: 'accuracy', metric: `late_${name}_at_${metric}`, value: arrived[name], unit: 'ms' })
    figure({ bench: 'accuracy', metric: `recorded_${name}_at_${metric}`, value: recorded[name], unit: 'ms' })
  }
  figure({ bench: 'accuracy', metric: `early_at_${metric}`, value: early, unit: 'executions' })
  figure({ bench: 'accuracy', metric: `skipped_at_${metric}`, value: skipped, unit: 'executions' })
}
