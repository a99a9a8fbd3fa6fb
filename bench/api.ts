// npm run bench -- api [--quick]: how fast jobs are created, at once and at a steady rate; then 500 history queries a second
// while 1,000 executions a second run, with 10 million attempts stored (--quick: 1 million), all of 10,000 jobs.
// Client, API, worker, target and PostgreSQL share the machine.
import { randomUUID } from 'node:crypto'
import { type Carillon, makeDataDir, startCarillon } from './carillon.ts'
import { requireDisk } from './disk.ts'
import { createJobs, measure, wait } from './load.ts'
import { figure, say, table } from './output.ts'
import { connectTo } from './register.ts'
import { type Recorded, recordHistory, registerYearly } from './register-many.ts'
import { type Call, measureCalls, type Timing } from './requests.ts'
import { startTarget } from './target.ts'
import { describeSpread, type Spread, spreadOf, windowsMin } from './windows.ts'

const days = 10
/** Executions a second beside the queries, and queries a second. */
const due = 1_000
const queriesPerS = 500
const steadyPerS = 1_000
const settleMs = 8_000
/**
 * Minimum share of due executions that arrive while the queries run. Fewer than all is a result; fewer than this is no
 * load.
 */
const arrivedMin = 0.1

interface Asked {
  what: string
  metric: string
  goalPerS?: string
  goalP99?: string
}

export async function run({ quick }: { quick: boolean }): Promise<void> {
  const seconds = quick ? 1.5 : 8
  const jobs = quick ? 20_000 : 100_000
  const attempts = quick ? 1_000_000 : 10_000_000
  await requireDisk(quick ? 3 : 15)
  await using dataDir = await makeDataDir()
  await using carillon = await startCarillon(dataDir.path)
  const report = new Report()
  await measureCreations(carillon, report, seconds)

  const client = await connectTo(dataDir.path)
  await registerYearly(client, jobs)
  const recorded = await recordHistory(client, { attempts, days })
  await client.end()
  await measureReads(carillon, report, recorded)
  await measureHistory(carillon, report, { seconds, recorded })
  report.print()
}

async function measureCreations(carillon: Carillon, report: Report, seconds: number): Promise<void> {
  const post = (next: (index: number) => Call, perS?: number) =>
    measureCalls(carillon, { seconds, at: 64, expected: 201, ...(perS !== undefined && { perS }) }, next)
  await post(creation)
  const ways: [Asked, () => Promise<Timing>][] = [
    [
      { what: 'create, 64 at once', metric: 'create', goalPerS: '3,000', goalP99: '50' },
      () => post(creation),
    ],
    [
      {
        what: `create, ${steadyPerS.toLocaleString('en')} a second`,
        metric: `create_${steadyPerS}`,
        goalP99: '50',
      },
      () => post(creation, steadyPerS),
    ],
    [{ what: 'create, 64 at once, with keys', metric: 'create_with_key' }, () => post(keyed)],
  ]
  await report.measure(ways)
}

/** Yearly: none of the thousands comes due while something else is measured. */
function creation(index: number): Call {
  const body = JSON.stringify({
    name: `bench ${index}`,
    schedule: { type: 'CRON', cron_expression: '0 10 1 1 *', timezone: 'America/New_York' },
    execution: { callback_url: 'http://127.0.0.1:9/', payload: { report_type: 'daily_sales' } },
    tags: ['reporting', 'finance'],
  })
  return { method: 'POST', path: '/jobs', body }
}

function keyed(index: number): Call {
  return { ...creation(index), headers: { 'idempotency-key': randomUUID() } }
}

/** Measures each read once, for one second, so that the figures can be compared with earlier ones. */
async function measureReads(carillon: Carillon, report: Report, { busyJobId }: Recorded): Promise<void> {
  const reads: [string, string, string][] = [
    ['list of jobs', 'jobs', '/jobs'],
    ['a busy job with its statistics', 'job', `/jobs/${busyJobId}`],
    ['history of a busy job', 'history', `/jobs/${busyJobId}/executions`],
    ['its failed ones', 'history_failed', `/jobs/${busyJobId}/executions?status=FAILED`],
    ['all executions', 'executions', '/executions'],
  ]
  for (const [what, metric, path] of reads) {
    const get = (seconds: number) =>
      measureCalls(carillon, { seconds, at: 8, expected: 200 }, () => ({ method: 'GET', path }))
    await get(0.5)
    report.add({ what: `${what}, 8 at once`, metric }, [await get(1)])
  }
}

async function measureHistory(
  carillon: Carillon,
  report: Report,
  { seconds, recorded }: { seconds: number; recorded: Recorded },
): Promise<void> {
  await using target = await startTarget()
  await createJobs(carillon, target, due)
  await wait(settleMs)
  const timings: Timing[] = []
  const load = measure(target, due, Math.floor(windowsMin * seconds))
  // It begins with the next second but one.
  await wait(2_000)
  for (let turn = 0; turn < windowsMin; turn++) {
    const options = { seconds, at: 64, perS: queriesPerS, expected: 200 }
    timings.push(await measureCalls(carillon, options, (index) => historyOf(recorded, index)))
  }
  const { executionsPerS, p50, p99 } = await load
  if (executionsPerS < arrivedMin * due)
    throw new Error(`only ${executionsPerS.toFixed(0)} executions a second ran beside the queries`)
  const what = `history of any job, ${queriesPerS} a second`
  report.add({ what, metric: 'history_500', goalPerS: String(queriesPerS), goalP99: '100' }, timings)
  report.addExecutions({ perS: executionsPerS, p50, p99 })
}

/** Far apart from each other, so that one does not warm the pages of the next. */
function historyOf({ jobIds }: Recorded, index: number): Call {
  return { method: 'GET', path: `/jobs/${jobIds[(index * 7_919) % jobIds.length]}/executions` }
}

class Report {
  readonly #rows: object[] = []

  /** In turn. */
  async measure(ways: readonly [Asked, () => Promise<Timing>][]): Promise<void> {
    const timings = ways.map((): Timing[] => [])
    for (let turn = 0; turn < windowsMin; turn++)
      for (const [index, [, measureOnce]] of ways.entries()) timings[index]!.push(await measureOnce())
    for (const [index, [asked]] of ways.entries()) this.add(asked, timings[index]!)
  }

  add({ what, metric, goalPerS = '', goalP99 = '' }: Asked, timings: readonly Timing[]): void {
    const describe = (spread: Spread, digits: number) =>
      timings.length === 1 ? spread.median.toFixed(digits) : describeSpread(spread, digits)
    const [perS, p50, p99] = (['perS', 'p50', 'p99'] as const).map((name) =>
      spreadOf(timings.map((timing) => timing[name])),
    )
    this.#rows.push({
      what,
      'per s': describe(perS!, 0),
      'goal, per s': goalPerS,
      'p50 ms': describe(p50!, 1),
      'p99 ms': describe(p99!, 1),
      'goal, p99 ms': goalP99,
    })
    figure({ bench: 'api', metric: `${metric}_per_s`, value: perS!.median, unit: '1/s' })
    figure({ bench: 'api', metric: `${metric}_p99`, value: p99!.median, unit: 'ms' })
  }

  /** Executions that ran meanwhile; their times are the lateness of their calls. */
  addExecutions({ perS, p50, p99 }: Pick<Timing, 'perS' | 'p50' | 'p99'>): void {
    this.#rows.push({
      what: 'executions meanwhile, lateness of their calls',
      'per s': perS.toFixed(0),
      'goal, per s': due.toLocaleString('en'),
      'p50 ms': p50.toFixed(1),
      'p99 ms': p99.toFixed(1),
      'goal, p99 ms': '',
    })
    figure({ bench: 'api', metric: 'executions_beside_history_per_s', value: perS, unit: '1/s' })
  }

  print(): void {
    say(`medians of ${windowsMin} windows (least to most); one window where there is no spread`)
    table(this.#rows)
  }
}
