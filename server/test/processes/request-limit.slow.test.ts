// Three processes with the role api admit a tenant's requests a second together, whichever of them the requests reach.
import assert from 'node:assert/strict'
import test from 'node:test'
import { callApi, until } from '../e2e/api.ts'
import { createFleet, fleetKey, withTime } from './fleet.ts'

const perSecond = 40
const seconds = 10
/** Requests under way to each process at most. */
const callers = 4

test('three API processes admit 40 requests a second together, wherever they go', withTime, async (t) => {
  const fleet = await createFleet(t)
  await fleet.client.query(
    `INSERT INTO tiers (tier, weight, history_days, requests_per_second) VALUES ('slow', 1, 30, $1)`,
    [perSecond],
  )
  const first = await fleet.start('api,scheduler,worker')
  const processes = [first, await fleet.start('api'), await fleet.start('api')]
  /** They report once they know of a second tenant; each must report once more after all have. */
  async function meet(): Promise<void> {
    const readBeats = async () => {
      const select = 'SELECT to_ms(beat_at)::float8 AS ms FROM api_processes'
      const { rows } = await fleet.client.query<{ ms: number }>(select)
      return rows.map(({ ms }) => ms)
    }
    const first = await until(async () => {
      const beats = await readBeats()
      return beats.length === processes.length ? Math.max(...beats) : null
    }, 'each process has reported')
    await until(
      async () => (Math.min(...(await readBeats())) > first ? true : null),
      'each process has learned of the others',
    )
  }
  for (const [what, parts] of Object.entries({
    'all three alike': [1, 1, 1],
    'one much more': [1, 0.02, 0.01],
    'one alone': [0, 0, 1],
  })) {
    // A tenant of its own: its bucket is full, as after a pause.
    const { tenant_id: tenantId } = await first.api.post<{ tenant_id: string }>(
      '/tenants',
      { name: what, tier: 'slow' },
      201,
    )
    const { key } = await callApi(first.url!, fleetKey, tenantId).post<{ key: string }>(
      '/api-keys',
      { name: 'caller', scopes: ['read'] },
      201,
    )
    await meet()
    let admitted = 0
    const started = performance.now()
    const elapsed = () => (performance.now() - started) / 1_000
    const call = async (url: string, part: number) => {
      for (let sent = 0; elapsed() < seconds; sent++) {
        // The rarer ones are sent at an even pace, of ten times the limit in all; the others as fast as they are answered.
        if (part < 1 && sent > (elapsed() * 10 * perSecond * part) / callers) {
          await until(() => (sent <= (elapsed() * 10 * perSecond * part) / callers ? true : null), 'its turn')
          if (elapsed() >= seconds) return
        }
        const response = await fetch(`${url}/api/v1/tenants/${tenantId}`, {
          headers: { authorization: `Bearer ${key}` },
        })
        await response.arrayBuffer()
        assert(response.status === 200 || response.status === 429, `${response.status}`)
        assert.match(response.headers.get('ratelimit-policy')!, /^"api";q=40;w=1$/)
        if (response.status === 200) admitted += 1
        else await new Promise((resolve) => setImmediate(resolve))
      }
    }
    await Promise.all(
      processes.flatMap(({ url }, nth) =>
        parts[nth] === 0 ? [] : Array.from({ length: callers }, () => call(url!, parts[nth]!)),
      ),
    )
    // Two seconds' worth may come at once on top; a process alone begins with a third of it.
    const [least, most] = [perSecond * seconds * 0.97, perSecond * (seconds + 2) * 1.03]
    assert(admitted >= least && admitted <= most, `${what}: ${admitted} of ${least} to ${most}`)
  }
})
