// Three whole servers on one database keep one limit of executions a minute: with slots that come due together, with
// triggers sent to all three, and while servers are killed.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { callApi, until } from '../e2e/api.ts'
import { startReceiver } from '../e2e/receiver.ts'
import { createFleet, fleetKey, withTime } from './fleet.ts'

const perMinute = 600
/** Two minutes' worth; slots leave a tenth of it. */
const burst = 2 * perMinute
const seconds = 15
/** Triggers in one request. */
const atOnce = 40

async function setup(t: TestContext) {
  const fleet = await createFleet(t)
  const receiver = await startReceiver(t)
  const env = { CARILLON_ALLOW_PRIVATE_TARGETS: 'true', CARILLON_PORT: '0' }
  const servers = await Promise.all(
    Array.from({ length: 3 }, () => fleet.start('api,scheduler,worker', { env })),
  )
  const { api } = servers[0]!
  const { name: _name, ...limits } = await api.get<{ name: string }>('/tiers/unlimited')
  await api.put('/tiers/small', { ...limits, executions_per_minute: perMinute })
  const tenant = { name: 'small', tier: 'small' }
  const { tenant_id: tenantId } = await api.post<{ tenant_id: string }>('/tenants', tenant, 201)
  const small = servers.map(({ url }) => callApi(url!, fleetKey, tenantId))
  const create = (name: string, schedule: object) =>
    small[0]!.post<{ job_id: string }>(
      '/jobs',
      {
        ...{ name, schedule, overlap_policy: 'ALLOW' },
        execution: { callback_url: `${receiver.url}/${name}` },
      },
      201,
    )
  /** The times of the first calls of executions. */
  function startsOf(path: string): number[] {
    const firsts = new Map<string, number>()
    for (const { path: called, headers, atMs } of receiver.calls) {
      const id = String(headers['x-execution-id'])
      if (called === `/${path}` && !firsts.has(id)) firsts.set(id, atMs)
    }
    return [...firsts.values()].toSorted((a, b) => a - b)
  }
  /** Executions that wait for the budget. */
  async function countHeldBack(): Promise<number> {
    const { rows } = await fleet.client.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM live WHERE host = 'quota'`,
    )
    return rows[0]!.count
  }
  return { fleet, servers, small, create, startsOf, countHeldBack, env }
}

test(
  'three servers keep one limit of triggers to two in a hundred, and say when to come again',
  withTime,
  async (t) => {
    const { small, create, startsOf } = await setup(t)
    const { job_id: jobId } = await create('triggered', { cron_expression: '0 0 1 1 *' })
    const fromMs = Date.now()
    let taken = 0
    const waits: number[] = []
    await Promise.all(
      small.map(async (api) => {
        while (Date.now() - fromMs < seconds * 1_000) {
          const answer = await api.send('POST', `/jobs/${jobId}/triggers`, { count: atOnce })
          if (answer.status === 202) taken += atOnce
          else {
            assert.equal(answer.status, 429)
            waits.push(Number(answer.headers.get('retry-after')))
            await until(() => true, 'a moment has passed')
          }
        }
      }),
    )
    const allowed = burst + (perMinute * (Date.now() - fromMs)) / 60_000
    // The last request that was refused asked for more than was left.
    assert(taken <= allowed + 1 && taken >= allowed * 0.98 - atOnce, `${taken} of ${Math.round(allowed)}`)
    assert(
      waits.length > 0 && waits.every((wait) => wait >= 1 && wait <= 5),
      `Retry-After ${[...new Set(waits)]}`,
    )
    await until(() => (startsOf('triggered').length === taken ? true : null), 'each of them has run')
    t.diagnostic(`${taken} triggers taken of ${Math.round(allowed)}, ${waits.length} refused`)
  },
)

test(
  'slots of three servers start at the rate of the tier, also while a server is killed, and none is lost',
  withTime,
  async (t) => {
    const { fleet, servers, create, startsOf, countHeldBack, env } = await setup(t)
    const jobs = 40
    // 40 slots a second: four times the rate.
    for (let n = 0; n < jobs; n++) await create('slots', { cron_expression: '* * * * * *' })
    // The burst of slots is 1,080: it lasts half a minute.
    await fleet.client.query(`
      INSERT INTO execution_budgets (tenant_id, spent, counted_at)
      SELECT tenant_id, 1080, clock_ms() FROM tenants WHERE name = 'small'
      ON CONFLICT (tenant_id) DO UPDATE SET spent = 1080, counted_at = clock_ms()`)
    await until(async () => ((await countHeldBack()) > 100 ? true : null), 'slots wait for the budget')
    const fromMs = Date.now()
    servers[1]!.signal('SIGKILL')
    await until(() => (Date.now() - fromMs > 5_000 ? true : null), 'the others go on')
    await fleet.start('api,scheduler,worker', { env })
    const untilMs = fromMs + seconds * 1_000
    await until(() => (Date.now() > untilMs ? true : null), 'the seconds have passed')
    const starts = startsOf('slots').filter((at) => at >= fromMs && at < untilMs).length
    const allowed = (perMinute * seconds) / 60
    // Executions that were let go just before may start within the window; the killed server ran some of them.
    assert(starts <= allowed + 30, `${starts} of ${allowed} started`)
    assert(starts >= allowed * 0.7, `${starts} of ${allowed} started`)
    const { rows } = await fleet.client.query<{ lost: number }>(`
      SELECT count(*)::int AS lost FROM slots s
      WHERE s.reason IS NULL AND s.slot < clock_timestamp() - interval '30 seconds'
        AND NOT EXISTS (SELECT FROM live l WHERE l.execution_id = s.execution_id)
        AND NOT EXISTS (SELECT FROM batches b WHERE b.batch_id = batch_of(s.execution_id))
        AND NOT EXISTS (SELECT FROM attempts a WHERE a.execution_id = s.execution_id AND a.final)`)
    assert.equal(rows[0]!.lost, 0)
    t.diagnostic(`${starts} slots started in ${seconds} s, of ${allowed}; ${await countHeldBack()} wait`)
  },
)
