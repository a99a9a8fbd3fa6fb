import assert from 'node:assert/strict'
import test from 'node:test'
import * as events from './events.ts'
import { ProcessMetrics, type ProcessReport, ProcessReports } from './process-metrics.ts'

const attempt: events.AttemptFinished = {
  executionId: '019b7a00-4c00-7000-8000-0000000000a7',
  attempt: 1,
  kind: 'slot',
  executor: 'http',
  outcome: 'succeeded',
  retryAt: null,
  deadReason: null,
  delayMs: 20,
  endToEndMs: 320,
  durationMs: 300,
}

/** The report of a process that has just started and in which `happen` happened; as it arrives over the channel. */
async function reportOf(happen: () => void, utilization: number | null = null): Promise<ProcessReport> {
  using metrics = new ProcessMetrics(() => 0)
  happen()
  return JSON.parse(JSON.stringify(await metrics.report(utilization)))
}

function finish(times: number, changes: Partial<events.AttemptFinished> = {}): void {
  for (let i = 0; i < times; i++) events.attemptFinished.emit({ ...attempt, ...changes })
}

function setup() {
  const reports = new ProcessReports()
  /** The metrics that the first process shows after `happen` happened in it. */
  async function show(happen: () => void = () => {}): Promise<Map<string, number>> {
    using own = new ProcessMetrics(
      () => 0,
      () => reports.recent(),
    )
    happen()
    const text = await (await own.sumWith(reports)).metrics()
    const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
    return new Map(
      lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]),
    )
  }
  return { reports, show }
}

const succeeded = 'carillon_executions_total{status="SUCCEEDED",kind="slot"}'
const failed = 'carillon_executions_total{status="FAILED",kind="slot"}'

test('counters and histograms of all processes are added up, label by label', async () => {
  const { reports, show } = setup()
  reports.note({}, await reportOf(() => finish(3)))
  const inOther = () => {
    finish(2, { executor: 'shell', durationMs: 2_000 })
    finish(1, { outcome: 'failed' })
    events.workerReclaimed.emit({ workerId: 'a', silentMs: 0 })
    events.loopFailed.emit({ loop: 'claim executions', error: new Error('away'), failures: 1, retryMs: 1 })
  }
  reports.note({}, await reportOf(inOther))
  const shown = await show(() => finish(4))
  assert.equal(shown.get(succeeded), 9)
  assert.equal(shown.get(failed), 1)
  assert.equal(shown.get('carillon_trigger_delay_seconds_count'), 10)
  assert.equal(shown.get('carillon_trigger_delay_seconds_bucket{le="0.025"}'), 10)
  assert.equal(shown.get('carillon_trigger_delay_seconds_bucket{le="0.01"}'), 0)
  assert.equal(shown.get('carillon_execution_duration_seconds_count{executor="http"}'), 8)
  assert.equal(shown.get('carillon_execution_duration_seconds_sum{executor="shell"}'), 4)
  assert.equal(shown.get('carillon_worker_deaths_total'), 1)
  assert.equal(shown.get('carillon_loop_failures_total{loop="claim executions"}'), 1)
})

test('a report is of all since the start of its process: a later one replaces it', async () => {
  const { reports, show } = setup()
  const process = {}
  reports.note(process, await reportOf(() => finish(3)))
  reports.note(process, await reportOf(() => finish(5)))
  assert.equal((await show()).get(succeeded), 5)
})

test('the counts of an ended process stay, and its replacement does not reset them', async () => {
  const { reports, show } = setup()
  const seen: (number | undefined)[] = []
  for (let start = 0; start < 3; start++) {
    const process = {}
    for (const count of [0, 2, 5]) {
      reports.note(process, await reportOf(() => finish(count)))
      seen.push((await show()).get(succeeded) ?? 0)
    }
    reports.end(process)
    seen.push((await show()).get(succeeded))
  }
  assert.deepEqual(seen, [0, 2, 5, 5, 5, 7, 10, 10, 10, 12, 15, 15])
  assert.equal((await show()).get('carillon_end_to_end_seconds_count'), 15)
})

test('a process that ended before it told anything changes nothing', async () => {
  const { reports, show } = setup()
  const before = await show()
  reports.end({})
  assert.deepEqual(await show(), before)
})

test('the success ratio is over all processes that live', async () => {
  const { reports, show } = setup()
  const other = {}
  const inOther = () => {
    finish(1)
    finish(3, { outcome: 'failed' })
  }
  reports.note(other, await reportOf(inOther))
  assert.equal((await show(() => finish(4))).get('carillon_success_ratio'), 5 / 8)
  assert.equal((await show()).get('carillon_success_ratio'), 1 / 4)
  reports.end(other)
  assert.equal((await show()).get('carillon_success_ratio'), undefined)
})

test('the utilization is the mean over the HTTP workers', async () => {
  const reports = new ProcessReports()
  assert.equal(reports.utilization(null), null)
  assert.equal(reports.utilization(0.5), 0.5)
  const second = {}
  reports.note(second, await reportOf(() => {}, 0.25))
  reports.note({}, await reportOf(() => {}, null))
  assert.equal(reports.utilization(0.75), 0.5)
  reports.end(second)
  assert.equal(reports.utilization(0.75), 0.75)
})
