import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { SlotItem, SlotList } from '@carillon/contract/slot.ts'
import { assertProblem, runAll, setupApp } from '../../../test/app.ts'
import { at, fireSlot } from '../../../test/fire.ts'
import { dayMs } from '../../lib/time/units.ts'

const nobody = '0192abcd-ef01-7000-8000-000000000001'

async function setup(t: TestContext, changes: object = {}) {
  const parts = await setupApp(t)
  const execution = { callback_url: 'http://127.0.0.1:7420/echo' }
  const made = await parts.call('POST', '/jobs', { name: 'a', schedule: '@hourly', execution, ...changes })
  assert.equal(made.statusCode, 201, made.body)
  const { job_id: jobId } = made.json()
  const list = async (query = ''): Promise<SlotList> => {
    const answer = await parts.call('GET', `/jobs/${jobId}/slots${query}`)
    assert.equal(answer.statusCode, 200, answer.body)
    return answer.json()
  }
  /** All pages of it, which must agree with each other. */
  const listAll = async (query: string, limit: number): Promise<SlotItem[]> => {
    const slots: SlotItem[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const page: SlotList = await list(`${query}&limit=${limit}${cursor}`)
      assert(page.slots.length <= limit)
      slots.push(...page.slots)
      assert(slots.length <= 200, 'the pages go round in a circle')
      cursor = page.pagination.next_cursor === null ? null : `&cursor=${page.pagination.next_cursor}`
    }
    return slots
  }
  /** As `HH:MM STATUS reason`. */
  const brief = async (query = '') => (await list(query)).slots.map(toBrief)
  const fire = (time: string, more: Parameters<typeof fireSlot>[3] = {}) => fireSlot(parts, jobId, time, more)
  const goTo = (time: string) => parts.world.advance(at(time) - parts.world.clock.databaseNow())
  return { ...parts, jobId, list, listAll, brief, fire, goTo }
}

function toBrief({ scheduled_time: time, status, reason }: SlotItem): string {
  return [time.slice(11, 16), status, reason].filter((part) => part !== undefined).join(' ')
}

test('every due slot is listed once with its status, oldest first', async (t) => {
  const { jobId, memory, world, call, list, fire, goTo } = await setup(t)
  await goTo('2026-01-01T01:00:00Z')
  const ran = await fire('2026-01-01T01:00:00Z')
  await runAll({ memory, world })
  await call('POST', `/jobs/${jobId}/trigger`)
  await runAll({ memory, world })
  await goTo('2026-01-01T02:00:00Z')
  const waits = await fire('2026-01-01T02:00:00Z')
  await goTo('2026-01-01T03:00:00Z')
  assert.equal((await fire('2026-01-01T03:00:00Z')).answer, 'overlap')
  await goTo('2026-01-01T04:30:00Z')
  const { slots, pagination } = await list('?to=2026-01-01T06:00:00Z')
  assert.deepEqual(slots, [
    { scheduled_time: '2026-01-01T01:00:00Z', status: 'SUCCEEDED', execution_id: ran.executionId },
    { scheduled_time: '2026-01-01T02:00:00Z', status: 'PENDING', execution_id: waits.executionId },
    { scheduled_time: '2026-01-01T03:00:00Z', status: 'SKIPPED', reason: 'overlap' },
    { scheduled_time: '2026-01-01T04:00:00Z', status: 'PENDING' },
    { scheduled_time: '2026-01-01T05:00:00Z', status: 'SCHEDULED' },
    { scheduled_time: '2026-01-01T06:00:00Z', status: 'SCHEDULED' },
  ])
  assert.deepEqual(pagination, { limit: 50, total: 6, total_capped: false, next_cursor: null })
})

test('with the latest slot first the pages list the same slots the other way round', async (t) => {
  const { memory, world, call, jobId, list, listAll, fire, goTo } = await setup(t)
  await goTo('2026-01-01T01:00:00Z')
  await fire('2026-01-01T01:00:00Z')
  await runAll({ memory, world })
  await goTo('2026-01-01T02:00:00Z')
  await fire('2026-01-01T02:00:00Z')
  await goTo('2026-01-01T03:00:00Z')
  assert.equal((await fire('2026-01-01T03:00:00Z')).answer, 'overlap')
  await goTo('2026-01-01T04:30:00Z')
  const window = '?from=2026-01-01T00:30:00Z&to=2026-01-01T06:00:00Z'
  const { slots, pagination } = await list(window)
  for (const limit of [1, 2, 4, 50]) {
    assert.deepEqual(await listAll(`${window}&order=desc`, limit), slots.toReversed(), `${limit} a page`)
    assert.deepEqual(await listAll(`${window}&order=asc`, limit), slots, `${limit} a page`)
  }
  assert.equal((await list(`${window}&order=desc&limit=2`)).pagination.total, pagination.total)
  // A page of one order is behind a slot of that order.
  const { next_cursor } = (await list(`${window}&limit=2`)).pagination
  const answer = await call('GET', `/jobs/${jobId}/slots${window}&order=desc&cursor=${next_cursor}`)
  assertProblem(answer, 'INVALID_CURSOR', 'cursor')
})

test('without a range the last 24 hours are listed, and days are whole days', async (t) => {
  const { world, list, brief } = await setup(t)
  await world.advance(3 * dayMs + 90_000)
  const { slots } = await list()
  assert.deepEqual(
    [slots.length, slots[0]!.scheduled_time, slots.at(-1)!.scheduled_time],
    [24, '2026-01-03T01:00:00Z', '2026-01-04T00:00:00Z'],
  )
  const day = await list('?from=2026-01-02&to=2026-01-02')
  assert.deepEqual(
    [day.slots.length, day.slots[0]!.scheduled_time, day.slots.at(-1)!.scheduled_time],
    [24, '2026-01-02T00:00:00Z', '2026-01-02T23:00:00Z'],
  )
  const both = await brief('?from=2026-01-02T03:00:00Z&to=2026-01-02T04:00:00Z')
  assert.deepEqual(both, ['03:00 PENDING', '04:00 PENDING'])
})

test('owed slots wait for their turn, and owed slots that ran are listed as run', async (t) => {
  const { memory, jobId, world, list, brief, fire, goTo } = await setup(t)
  await goTo('2026-01-01T05:00:30Z')
  await fire('2026-01-01T01:00:00Z', { late: true, owedTo: at('2026-01-01T05:00:00Z') })
  await runAll({ memory, world })
  const row = memory.store.jobs.get(jobId)!
  const slot = at('2026-01-01T03:00:00Z')
  row.skips.push({ from: slot, to: slot, count: 1, reason: 'exclusion', version: 1 })
  assert.deepEqual(await brief('?to=2026-01-01T06:30:00Z'), [
    '01:00 SUCCEEDED',
    '02:00 PENDING owed',
    '03:00 SKIPPED exclusion',
    '04:00 PENDING owed',
    '05:00 PENDING owed',
    '06:00 SCHEDULED',
  ])
  assert.equal((await list('?limit=1&to=2026-01-01T06:30:00Z')).pagination.total, 6)
})

test('slots that come while a job is paused are shown as resume will record them', async (t) => {
  const { jobId, call, brief, goTo } = await setup(t)
  await goTo('2026-01-01T00:30:00Z')
  await call('PATCH', `/jobs/${jobId}/pause`, { until: '2026-01-01T04:00:00Z' })
  await goTo('2026-01-01T02:30:00Z')
  const range = '?to=2026-01-01T05:00:00Z'
  const paused = ['01:00 SKIPPED paused', '02:00 SKIPPED paused']
  const ahead = ['04:00 SCHEDULED', '05:00 SCHEDULED']
  assert.deepEqual(await brief(range), [...paused, '03:00 SCHEDULED paused', ...ahead])
  await call('PATCH', `/jobs/${jobId}/resume`)
  assert.deepEqual(await brief(range), [...paused, '03:00 SCHEDULED', ...ahead])
  await call('PATCH', `/jobs/${jobId}/pause`)
  assert.deepEqual((await brief(range)).slice(2), [
    '03:00 SCHEDULED paused',
    '04:00 SCHEDULED paused',
    '05:00 SCHEDULED paused',
  ])
})

test('nothing of a deleted job lies ahead', async (t) => {
  const { jobId, call, brief, goTo } = await setup(t)
  await goTo('2026-01-01T01:30:00Z')
  await call('DELETE', `/jobs/${jobId}`)
  assert.deepEqual(await brief('?to=2026-01-01T05:00:00Z'), ['01:00 SKIPPED deleted'])
})

test('of a job with max_runs no more slots lie ahead than may run, exclusions not counted', async (t) => {
  const { list, listAll, jobId, call, brief, goTo } = await setup(t, {
    schedule: {
      cron_expression: '0 * * * *',
      max_runs: 3,
      exclusions: [{ from: '2026-01-01T02:00:00Z', to: '2026-01-01T04:00:00Z' }],
    },
  })
  const range = '?from=2026-01-01&to=2026-01-01'
  const expected = [
    '01:00 SCHEDULED',
    '02:00 SCHEDULED exclusion',
    '03:00 SCHEDULED exclusion',
    '04:00 SCHEDULED',
    '05:00 SCHEDULED',
  ]
  assert.deepEqual(await brief(range), expected)
  assert.deepEqual((await listAll(range, 2)).map(toBrief), expected)
  assert.equal((await list(range)).pagination.total, 5)
  // A pause spends none of them.
  await call('PATCH', `/jobs/${jobId}/pause`, { until: '2026-01-01T05:30:00Z' })
  await goTo('2026-01-01T02:30:00Z')
  const paused = await brief(range)
  assert.deepEqual(
    [paused.length, paused.at(-1), paused[1], paused[2]],
    [8, '08:00 SCHEDULED', '02:00 SKIPPED paused', '03:00 SCHEDULED paused'],
  )
})

test('of a job that counts from the end of its last run only the planned slot lies ahead', async (t) => {
  const schedule = { every_seconds: 3_600, after_completion: true }
  const { memory, jobId, brief, fire, goTo } = await setup(t, { schedule })
  assert.deepEqual(await brief('?from=2026-01-01&to=2026-01-02'), ['01:00 SCHEDULED'])
  await goTo('2026-01-01T01:00:00Z')
  const slot = at('2026-01-01T01:00:00Z')
  await fire('2026-01-01T01:00:00Z', { move: { slotAt: null, dueAt: null, decidedTo: slot, awaits: true } })
  assert.deepEqual(await brief('?from=2026-01-01&to=2026-01-02'), ['01:00 PENDING'])
  // On no grid: the skipped range is the slot itself.
  const skipped = at('2026-01-01T02:17:31Z')
  const range = { from: skipped, to: skipped, count: 1, reason: 'paused', version: 1 } as const
  memory.store.jobs.get(jobId)!.skips.push(range)
  assert.deepEqual(await brief('?from=2026-01-01&to=2026-01-02'), ['01:00 PENDING', '02:17 SKIPPED paused'])
})

test('with jitter a slot is to come until it is due', async (t) => {
  const { memory, jobId, brief, goTo } = await setup(t, { jitter_seconds: 3_000 })
  const { dueAt } = memory.store.jobs.get(jobId)!.cursor
  assert(dueAt! > at('2026-01-01T01:00:01Z'))
  await goTo('2026-01-01T01:00:01Z')
  assert.deepEqual(await brief(), ['01:00 SCHEDULED'])
  await goTo('2026-01-01T01:50:00Z')
  assert.deepEqual(await brief(), ['01:00 PENDING'])
})

test('pages of any size hold the same slots, made of executions, skips or the schedule', async (t) => {
  const { memory, jobId, world, listAll, list, fire, goTo } = await setup(t, {
    schedule: '* * * * *',
    overlap_policy: 'ALLOW',
  })
  for (let minute = 1; minute <= 59; minute++) {
    const time = `2026-01-01T00:${String(minute).padStart(2, '0')}:00Z`
    await goTo(time)
    if (minute % 3 > 0 && minute <= 50) await fire(time)
    else if (minute <= 50) {
      const range = { from: at(time), to: at(time), count: 1, reason: 'misfire', version: 1 } as const
      memory.store.jobs.get(jobId)!.skips.push(range)
    }
  }
  await world.advance(1_000)
  const range = '?from=2026-01-01T00:00:00Z&to=2026-01-01T01:10:00Z'
  const all = await listAll(range, 200)
  const minutes = Array.from({ length: 70 }, (_, minute) => at('2026-01-01T00:01:00Z') + minute * 60_000)
  assert.deepEqual(
    all.map(({ scheduled_time: time }) => at(time)),
    minutes,
  )
  for (const limit of [1, 2, 7, 70]) assert.deepEqual(await listAll(range, limit), all, `pages of ${limit}`)
  const { total, total_capped: capped } = (await list(`${range}&limit=3`)).pagination
  assert.deepEqual([total, capped], [70, false])
})

test('a month of a paused one-second job is one range, and is listed slot by slot from any place', async (t) => {
  const { memory, jobId, call, list, goTo } = await setup(t, { schedule: { every_seconds: 1 } })
  await call('PATCH', `/jobs/${jobId}/pause`)
  await goTo('2026-01-31T00:00:00Z')
  await call('PATCH', `/jobs/${jobId}/resume`)
  const { skips } = memory.store.jobs.get(jobId)!
  assert.deepEqual([skips.length, skips[0]!.count], [1, 30 * 86_400])
  const hour = await list('?from=2026-01-10T00:00:00Z&to=2026-01-10T00:59:59Z&limit=1')
  assert.deepEqual([hour.pagination.total, hour.pagination.total_capped], [3_600, false])
  for (let place = 0; place < 200; place++) {
    const from = at('2026-01-01T00:00:01Z') + place * 12_345_000
    const { slots, pagination } = await list(`?from=${new Date(from).toISOString()}&to=2026-01-31&limit=200`)
    const times = slots.map(({ scheduled_time: time }) => at(time))
    assert.deepEqual(
      times,
      Array.from({ length: 200 }, (_, n) => from + n * 1_000),
    )
    assert(slots.every(({ status, reason }) => status === 'SKIPPED' && reason === 'paused'))
    assert.deepEqual([pagination.total, pagination.total_capped], [10_000, true])
    const next = await list(`?from=2026-01-01&to=2026-01-31&limit=1&cursor=${pagination.next_cursor}`)
    assert.equal(at(next.slots[0]!.scheduled_time), from + 200_000)
  }
})

test('a count stops at 10,000 and is exact below', async (t) => {
  const { list } = await setup(t, { schedule: '* * * * *' })
  const exact = await list('?from=2026-01-01T00:00:00Z&to=2026-01-07T22:40:00Z&limit=1')
  assert.deepEqual([exact.pagination.total, exact.pagination.total_capped], [10_000, false])
  const more = await list('?from=2026-01-01T00:00:00Z&to=2026-01-07T22:41:00Z&limit=1')
  assert.deepEqual([more.pagination.total, more.pagination.total_capped], [10_000, true])
})

test('each wrong question is refused by its parameter', async (t) => {
  const { jobId, call, list } = await setup(t)
  const ask = (query: string) => call('GET', `/jobs/${jobId}/slots?${query}`)
  for (const name of ['from', 'to']) {
    for (const text of ['today', '2026-02-30', '2026-01-01T00:00:00', '3026-01-01'])
      assertProblem(await ask(`${name}=${text}`), 'INVALID_REQUEST', name)
  }
  assertProblem(await ask('from=2026-01-02&to=2026-01-01'), 'INVALID_REQUEST', 'to')
  assertProblem(await ask('from=2026-01-01&to=2027-01-02'), 'INVALID_REQUEST', 'from')
  assert.equal((await ask('from=2026-01-01&to=2027-01-01')).statusCode, 200)
  assertProblem(await ask('limit=0'), 'INVALID_REQUEST', 'limit')
  assertProblem(await ask('order=newest'), 'INVALID_REQUEST', 'order')
  const cursorOf = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  for (const value of [['skips', 5], ['slots', -1], ['slots', 1e300], ['slots', nobody], 5])
    assertProblem(await ask(`cursor=${cursorOf(value)}`), 'INVALID_CURSOR', 'cursor')
  assert.deepEqual((await list('?from=1969-12-31&to=1970-01-01')).slots, [])
  for (const id of [nobody, 'nope']) assertProblem(await call('GET', `/jobs/${id}/slots`), 'JOB_NOT_FOUND')
})
