import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { addTenant } from '../../../test/access.ts'
import { operatorKey, setupApp } from '../../../test/app.ts'

const headers = { authorization: `Bearer ${operatorKey}` }

async function preview(t: TestContext, payload: object) {
  const { app } = await setupApp(t)
  return app.inject({ method: 'POST', url: '/api/v1/schedules/preview', headers, payload })
}

test('a preview explains a schedule and lists its next runs, by the clock of the database', async (t) => {
  const answer = await preview(t, { schedule: 'every day at 10:00 AM in New York', count: 2 })
  assert.equal(answer.statusCode, 200, answer.body)
  const { schedule, next, rule, description } = answer.json()
  assert.deepEqual(schedule, { type: 'CRON', cron_expression: '0 10 * * *', timezone: 'America/New_York' })
  assert.deepEqual(
    next.map(({ at, local }: { at: string; local: string }) => [at, local]),
    [
      ['2026-01-01T15:00:00Z', '2026-01-01T10:00:00-05:00'],
      ['2026-01-02T15:00:00Z', '2026-01-02T10:00:00-05:00'],
    ],
  )
  assert.equal(rule.follows, 'WALL_CLOCK')
  assert.match(description, /10:00/)
})

test('a preview shows the effect of a clock change', async (t) => {
  const schedule = { type: 'CRON', cron_expression: '30 2 * * *', timezone: 'America/New_York' }
  const answer = await preview(t, { schedule, from: '2026-03-08T00:00:00Z', count: 1 })
  const [slot] = answer.json().next
  assert.equal(slot.at, '2026-03-08T07:00:00Z')
  assert.equal(slot.notes[0].code, 'GAP')
})

test('a preview warns of a schedule that the tier of the tenant would refuse', async (t) => {
  const { call } = await setupApp(t)
  const tenantId = await addTenant(call, 'small', 'free')
  const ask = async (schedule: string, more: Record<string, string>) => {
    const answer = await call('POST', '/schedules/preview', { schedule, count: 1 }, more)
    return answer.json().warnings.map(({ code }: { code: string }) => code)
  }
  assert.deepEqual(await ask('PT5S', { 'x-tenant-id': tenantId }), ['BELOW_MIN_INTERVAL'])
  assert.deepEqual(await ask('PT1M', { 'x-tenant-id': tenantId }), [])
  assert.deepEqual(await ask('PT5S', {}), [])
})

const refused: [string, object, { code?: string; pointer: string; problem: string }][] = [
  [
    'a bad cron text',
    { schedule: '61 * * * *' },
    { problem: 'INVALID_SCHEDULE', pointer: '/schedule', code: 'OUT_OF_RANGE' },
  ],
  [
    'a bad field of a cron object',
    { schedule: { type: 'CRON', cron_expression: '0 0 30 2 *' } },
    { problem: 'INVALID_SCHEDULE', pointer: '/schedule/cron_expression', code: 'NEVER_MATCHES' },
  ],
  [
    'an unknown zone',
    { schedule: { type: 'CRON', cron_expression: '0 0 * * *', timezone: 'Europe/Lodnon' } },
    { problem: 'INVALID_SCHEDULE', pointer: '/schedule/timezone', code: 'UNKNOWN_ZONE' },
  ],
  [
    'a field of another type',
    { schedule: { type: 'CRON', cron_expression: '0 0 * * *', every_seconds: 5 } },
    { problem: 'INVALID_SCHEDULE', pointer: '/schedule/every_seconds', code: 'UNKNOWN_FIELD' },
  ],
  [
    'an exclusion that is none',
    { schedule: { type: 'CRON', cron_expression: '0 0 * * *', exclusions: [{ from: '2026-01-01' }] } },
    { problem: 'INVALID_SCHEDULE', pointer: '/schedule/exclusions/0', code: 'BAD_OPTION' },
  ],
  [
    'a bad instant',
    { schedule: '@daily', from: 'yesterday!' },
    { problem: 'INVALID_SCHEDULE', pointer: '/from', code: 'BAD_INSTANT' },
  ],
  [
    'a schedule of the wrong type',
    { schedule: 5 },
    { problem: 'INVALID_REQUEST', pointer: '/schedule', code: 'WRONG_TYPE' },
  ],
  [
    'an unknown field',
    { schedule: { typ: 'CRON' } },
    { problem: 'INVALID_REQUEST', pointer: '/schedule/typ', code: 'UNKNOWN_FIELD' },
  ],
  [
    'too many slots',
    { schedule: '@daily', count: 101 },
    { problem: 'INVALID_REQUEST', pointer: '/count', code: 'OUT_OF_RANGE' },
  ],
  ['no schedule', {}, { problem: 'INVALID_REQUEST', pointer: '/schedule', code: 'REQUIRED' }],
]
for (const [what, body, expected] of refused) {
  test(`${what} is refused at the right pointer`, async (t) => {
    const answer = await preview(t, body)
    assert.equal(answer.statusCode, 400, answer.body)
    const { code, errors } = answer.json()
    const [{ pointer, code: reason }] = errors
    assert.deepEqual({ problem: code, pointer, code: reason }, expected)
  })
}

test('a refusal carries the position, the allowed values and near suggestions that a form needs', async (t) => {
  const answer = await preview(t, { schedule: { type: 'CRON', cron_expression: '0 25 * * *' } })
  const [{ field, position, allowed }] = answer.json().errors
  assert.equal(field, 'hour')
  assert.equal(position, 2)
  assert.match(allowed, /0.*23/)
  const zone = await preview(t, { schedule: '0 0 * * *', from: '2026-01-01T00:00:00Z' })
  assert.equal(zone.statusCode, 200)
  const typo = await preview(t, { schedule: { cron_expression: '@daily', timezone: 'Europe/Lodnon' } })
  assert.deepEqual(typo.json().errors[0].suggestions[0], 'Europe/London')
})

test('a preview needs a key', async (t) => {
  const { app } = await setupApp(t)
  const answer = await app.inject({
    method: 'POST',
    url: '/api/v1/schedules/preview',
    payload: { schedule: '@daily' },
  })
  assert.equal(answer.statusCode, 401)
})
