// Requests every operation of the OpenAPI document thousands of times, with valid and invalid input: a whole server
// with all its roles on a real PostgreSQL, over real connections. Each finding is printed as one curl command.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { Worker } from 'node:worker_threads'
import { createDatabase } from '../database.ts'
import type { FuzzReport } from './run.ts'
import type { FuzzOrder } from './run-apart.ts'

const requestsVariable = 'CARILLON_FUZZ_REQUESTS'
export const seedVariable = 'CARILLON_FUZZ_SEED'
/** Of each test, which has 120 s in all; of 43 operations it took 23 s on two shared cores, 50 s on busy ones. */
const msMax = 100_000
const sentMinPerOperation = 50
const takenShareMin = 1 / 3
const saidMax = 12

/** Operations that may never be answered with 2xx, and why. */
const neverTaken: Readonly<Record<string, string>> = {
  'POST /api/v1/session': 'the fuzz does not guess a key or a code',
  'POST /api/v1/tenants/{tenant_id}/purge': 'the fuzz does not repeat the name of a deleted tenant',
  'GET /api/v1/events': 'the fuzz does not ask for a stream, which would not end',
}

export async function fuzz(t: TestContext, seed: number, requestsUsual: number): Promise<void> {
  const requests = Number(process.env[requestsVariable] ?? requestsUsual)
  t.diagnostic(`to repeat it: ${seedVariable}=${seed} npm test -- server/test/fuzz/fuzz.slow.test.ts`)
  const report = await runApart({ address: await createDatabase(t), seed, requests, msMax })
  for (const line of summarise(report)) t.diagnostic(line)
  assertSound(report, requests)
}

/** In a thread of its own: the hooks of `node:test` make every promise of this one three times as dear. */
async function runApart(order: FuzzOrder): Promise<FuzzReport> {
  const worker = new Worker(new URL('./run-apart.ts', import.meta.url), { workerData: order })
  try {
    const [report] = await once(worker, 'message')
    return report as FuzzReport
  } finally {
    await worker.terminate()
  }
}

function assertSound(report: FuzzReport, requests: number): void {
  const said = report.faults.slice(0, saidMax).map(sayFault)
  if (said.length > 0) {
    assert.fail(
      `${report.faultCount} faults, ${report.faults.length} kinds, seed ${report.seed}\n${said.join('\n')}`,
    )
  }
  assert.equal(report.sent, requests, `only ${report.sent} requests in ${msMax} ms`)
  assert.equal(report.unavailable, 0, 'answers with 503')
  const share = report.taken / report.sent
  assert(
    share >= takenShareMin,
    `only ${(100 * share).toFixed(1)} % were taken: too little can have happened`,
  )
  const sentMin = Math.min(sentMinPerOperation, Math.floor(requests / report.operations.size / 2))
  for (const [name, { sent, taken }] of report.operations) {
    assert(sent >= sentMin, `${name} was asked ${sent} times only`)
    if (!(name in neverTaken)) assert(taken > 0, `${name} was never answered with 2xx in ${sent} requests`)
  }
}

function sayFault({ what, spoiled, curl, answer }: FuzzReport['faults'][number]): string {
  return `\n  ${what}\n    spoiled: ${spoiled.join('; ') || 'nothing'}\n    ${curl}\n    ${answer}`
}

function summarise({ seed, sent, taken, tookMs, operations }: FuzzReport): string[] {
  const perSecond = Math.round((1_000 * sent) / tookMs)
  const share = ((100 * taken) / sent).toFixed(1)
  const rows = [...operations].map(([name, one]) => {
    const refused = Object.entries(one.refusals).toSorted(([, a], [, b]) => b - a)
    const why = refused.length === 0 ? '' : `; most refused: ${refused[0]!.join(' ')}`
    const slowest = `${Math.round(one.slowestMs)} ms at most`
    return `${String(one.sent).padStart(6)} sent ${String(one.taken).padStart(6)} taken  ${slowest.padStart(16)}  ${name}${why}`
  })
  return [
    `seed ${seed}: ${sent} requests in ${(tookMs / 1_000).toFixed(1)} s, ${perSecond} a second, ${share} % answered with 2xx`,
    ...rows,
  ]
}
