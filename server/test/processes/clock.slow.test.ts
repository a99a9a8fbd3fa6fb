// Clocks that lie. A wall clock that is an hour off decides nothing; a monotonic clock that jumps costs a scheduler its
// partitions until it knows the database's time again, and no slot.
import assert from 'node:assert/strict'
import test from 'node:test'
import { until } from '../e2e/api.ts'
import { type Receiver, startReceiver } from '../e2e/receiver.ts'
import { createFleet, type Fleet, type Process, untilHeldBy, withTime } from './fleet.ts'

const hourMs = 3_600_000

/** Runs in the server process before anything else. */
function preload(code: string): Record<string, string> {
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` }
}

const wallClockOff = (ms: number) =>
  preload(`
    const Real = Date
    globalThis.Date = class extends Real {
      constructor(...given) { given.length === 0 ? super(Real.now() + ${ms}) : super(...given) }
      static now() { return Real.now() + ${ms} }
    }`)

/** Ten minutes on, when it gets the signal. */
const monotonicClockJumps = preload(`
  const real = performance.now.bind(performance)
  let ms = 0
  performance.now = () => real() + ms
  process.on('SIGUSR2', () => { ms += 600_000 })`)

async function tick({ api }: Process, url: string): Promise<string> {
  const request = { name: 'tick', schedule: '* * * * * *', execution: { callback_url: url } }
  return (await api.post<{ job_id: string }>('/jobs', { ...request, overlap_policy: 'ALLOW' }, 201)).job_id
}

/** No call came before its slot, and between the first slot and the last none is missing or was skipped. */
async function assertOnTime(fleet: Fleet, jobId: string, { calls }: Receiver): Promise<void> {
  for (const { headers, atMs } of calls)
    assert(
      atMs >= Date.parse(String(headers['x-scheduled-time'])),
      `${headers['x-scheduled-time']} came early`,
    )
  const { rows } = await fleet.client.query(
    `SELECT count(*)::int AS slots, extract(epoch FROM max(slot) - min(slot))::int + 1 AS seconds,
       (SELECT count(*)::int FROM skips) AS skips FROM slots WHERE job_id = $1 AND reason IS NULL`,
    [jobId],
  )
  const [{ slots, seconds, skips }] = rows
  assert.deepEqual([slots, skips], [seconds, 0])
}

const called = ({ calls }: Receiver, more: number) => {
  const before = calls.length
  return until(() => (calls.length >= before + more ? true : null), `${more} more calls`)
}

test(
  'processes with wall clocks an hour off, either way, fire on time and record true times',
  withTime,
  async (t) => {
    const fleet = await createFleet(t)
    const receiver = await startReceiver(t)
    const fromMs = Date.now()
    const [ahead, behind] = await Promise.all([
      fleet.start('api,scheduler,worker', { env: wallClockOff(hourMs) }),
      fleet.start('api,scheduler,worker', { env: wallClockOff(-hourMs) }),
    ])
    await untilHeldBy(fleet, 2)
    // Of several jobs some are in the partitions of either.
    const jobs = await Promise.all([ahead!, behind!, ahead!, behind!].map((one) => tick(one, receiver.url)))
    await called(receiver, 20)
    await ahead!.stop()
    await called(receiver, 10)
    await behind!.stop()
    const toMs = Date.now()
    for (const jobId of jobs) await assertOnTime(fleet, jobId, receiver)
    const { rows } = await fleet.client.query(
      `SELECT execution_id::text AS id, to_ms(started_at) AS started, to_ms(finished_at) AS finished, to_ms(enqueued_at) AS enqueued
     FROM attempts WHERE outcome = 'succeeded'`,
    )
    assert(rows.length >= 20)
    for (const { id, ...times } of rows) {
      const made = Number.parseInt(id.replace('-', '').slice(0, 12), 16)
      // Error of the clock estimate: its best sample is a round trip that may take a while on a busy machine.
      const slackMs = 2_000
      for (const ms of [made, ...Object.values(times).map(Number)])
        assert(ms >= fromMs - slackMs && ms <= toMs + slackMs, `${new Date(ms).toISOString()} in ${id}`)
    }
  },
)

test(
  'a scheduler with a jumping clock reports it, lets others fire, and takes part again once it knows the time',
  withTime,
  async (t) => {
    const fleet = await createFleet(t)
    const receiver = await startReceiver(t)
    const [one] = await Promise.all([
      fleet.start('api,scheduler,worker', { env: monotonicClockJumps }),
      fleet.start('scheduler'),
    ])
    const before = await untilHeldBy(fleet, 2)
    const jobs = await Promise.all(Array.from({ length: 4 }, () => tick(one!, receiver.url)))
    await called(receiver, 8)
    const readiness: object[] = []
    one!.signal('SIGUSR2')
    await until(async () => {
      const { checks } = (await (await fetch(`${one!.url}/readyz`)).json()) as { checks: { clock: string } }
      if (checks.clock !== 'ok') readiness.push(checks)
      return one!.events('clock.regained').length === 1 ? true : null
    }, 'it lost the time and has it again')
    const [said] = one!.events('clock.stepped')
    assert(Math.abs(Number(said!['stepMs']) - 600_000) < 5_000, JSON.stringify(said))
    assert.equal(one!.events('clock.lost').length, 1)
    // Until the first sample after the jump it only knows that the last one is old, or not even that.
    assert.match(JSON.stringify(readiness), /"clock":"may be off by \d+ ms"/)
    const after = await untilHeldBy(fleet, 2)
    const kept = after.filter(({ scheduler_id: id }) => before.some((held) => held.scheduler_id === id))
    assert.equal(kept.length, 1, 'it left, and joined anew')
    await called(receiver, 8)
    for (const jobId of jobs) await assertOnTime(fleet, jobId, receiver)
  },
)
