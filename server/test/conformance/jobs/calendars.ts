// Conformance of the calendars port, for every implementation.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { calendarsMax } from '../../../src/domain/jobs/calendar.ts'
import { partitionOf } from '../../../src/domain/jobs/job.ts'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import type { CalendarPage } from '../../../src/ports/calendars.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import type { StoreScenario } from '../stores.ts'
import { change, edit, pause, remove } from './changes.ts'

const tenantId = defaultTenantId
const christmas = [{ date: '2026-12-25' }, { from: '2026-12-31T18:00:00', to: '2027-01-01' }]

async function put(s: StoreScenario, name: string, changes: object = {}) {
  const order = { tenantId, name, description: null, entries: christmas, by: 'tester', ...changes }
  const outcome = await s.calendars.put(order)
  assert(outcome.kind !== 'too_many')
  return outcome
}

function createJobNaming(s: StoreScenario, names: readonly string[], changes: Partial<NewJob> = {}) {
  const exclusions = names.map((calendar) => ({ calendar }))
  return s.createJob({
    schedule: { type: 'CRON', cron_expression: '* * * * * *', exclusions },
    ...changes,
  })
}

/** The jobs of which schedulers have been told since they last asked. */
async function noted(s: StoreScenario, jobs: readonly NewJob[]): Promise<string[]> {
  const partitionIds = [...new Set(jobs.map(({ jobId }) => partitionOf(jobId)))]
  return (await s.slots.takeChanges(partitionIds, 100)).map(({ jobId }) => jobId).toSorted()
}

export function testCalendars(name: string, setup: (t: TestContext) => Promise<StoreScenario>): void {
  test(`${name}: a calendar is made, replaced and read`, async (t) => {
    const s = await setup(t)
    const before = await s.now()
    const made = await put(s, 'holidays', { description: 'Days off' })
    assert.equal(made.kind, 'created')
    const { createdAt, updatedAt, ...rest } = made.calendar
    assert.deepEqual(rest, {
      name: 'holidays',
      description: 'Days off',
      entries: christmas,
      revision: 1,
      createdBy: 'tester',
      updatedBy: 'tester',
    })
    assert(createdAt >= before && createdAt === updatedAt)
    await s.tick()
    const changed = await put(s, 'holidays', { entries: [], by: 'editor' })
    assert.equal(changed.kind, 'replaced')
    const { updatedAt: later, ...now } = changed.calendar
    const expected = { ...rest, createdAt, description: null, entries: [], revision: 2, updatedBy: 'editor' }
    assert.deepEqual(now, expected)
    assert(later > createdAt)
    assert.deepEqual(await s.calendars.get(tenantId, 'holidays'), changed.calendar)
    assert.equal(await s.calendars.get(tenantId, 'other'), null)
  })

  test(`${name}: calendars are listed by name and in pages, each tenant its own`, async (t) => {
    const s = await setup(t)
    const other = await s.addTenant(1)
    for (const one of ['b', 'a_b', 'a.b', 'a-b', 'ab', '0']) await put(s, one)
    await put(s, 'theirs', { tenantId: other })
    const first = await s.calendars.list({ tenantId, after: null, limit: 4 })
    assert.deepEqual(
      first.calendars.map((one) => one.name),
      ['0', 'a-b', 'a.b', 'a_b'],
    )
    assert.deepEqual([first.more, first.total], [true, 6])
    const second = await s.calendars.list({ tenantId, after: 'a_b', limit: 4 })
    assert.deepEqual(
      second.calendars.map((one) => one.name),
      ['ab', 'b'],
    )
    assert.deepEqual([second.more, second.total], [false, 6])
    assert.equal(await s.calendars.get(tenantId, 'theirs'), null)
    assert.equal(await s.calendars.delete(tenantId, 'theirs'), 'not_found')
  })

  test(`${name}: a page of calendars ends early at its bytes, and the next goes on there`, async (t) => {
    const s = await setup(t)
    const entries = Array.from({ length: 400 }, (_, n) => ({ date: `2${String(n).padStart(3, '0')}-01-01` }))
    const names = ['a', 'b', 'c', 'd', 'e']
    for (const one of names) await put(s, one, { entries })
    const pages: string[][] = []
    let after: string | null = null
    for (let more = true; more; ) {
      const page: CalendarPage = await s.calendars.list({ tenantId, after, limit: 4, bytesMax: 25_000 })
      pages.push(page.calendars.map((one) => one.name))
      after = pages.at(-1)!.at(-1)!
      more = page.more
    }
    assert.deepEqual(pages, [['a', 'b'], ['c', 'd'], ['e']])
    const alone = await s.calendars.list({ tenantId, after: null, limit: 4, bytesMax: 1 })
    assert.deepEqual([alone.calendars.length, alone.more], [1, true])
  })

  test(`${name}: names are resolved to the contents of their calendars, and missing calendars are left out`, async (t) => {
    const s = await setup(t)
    await put(s, 'a')
    await put(s, '__proto__', { entries: [] })
    await put(s, 'theirs', { tenantId: await s.addTenant(1) })
    const found = await s.calendars.resolve(tenantId, ['a', '__proto__', 'theirs', 'none'])
    assert.deepEqual(Object.entries(found).toSorted(), [
      ['__proto__', []],
      ['a', christmas],
    ])
    assert.deepEqual(await s.calendars.resolve(tenantId, []), {})
  })

  test(`${name}: a calendar that a job names stays until no job does`, async (t) => {
    const s = await setup(t)
    await put(s, 'a')
    await put(s, 'b')
    await put(s, 'a', { tenantId: await s.addTenant(1) })
    const job = await createJobNaming(s, ['a', 'b'])
    assert.equal(await s.calendars.delete(tenantId, 'a'), 'in_use')
    await change(s, job, edit({ schedule: { type: 'CRON', cron_expression: '* * * * * *' } }))
    assert.equal(await s.calendars.delete(tenantId, 'a'), 'deleted')
    assert.equal(await s.calendars.delete(tenantId, 'a'), 'not_found')
    const second = await createJobNaming(s, ['b'])
    assert.equal(await s.calendars.delete(tenantId, 'b'), 'in_use')
    await change(s, second, remove)
    assert.equal(await s.calendars.delete(tenantId, 'b'), 'deleted')
    assert.equal((await s.calendars.list({ tenantId, after: null, limit: 9 })).total, 0)
  })

  test(`${name}: a name that is gone is not in use, though a job has it`, async (t) => {
    const s = await setup(t)
    await createJobNaming(s, ['gone'])
    assert.equal(await s.calendars.delete(tenantId, 'gone'), 'not_found')
  })

  test(`${name}: schedulers are told of the jobs that a change concerns`, async (t) => {
    const s = await setup(t)
    const other = await s.addTenant(1)
    await put(s, 'a')
    const soon = await createJobNaming(s, ['a', 'b'])
    const renamed = await createJobNaming(s, ['a'])
    const paused = await createJobNaming(s, ['a'])
    const jobs = [
      soon,
      renamed,
      paused,
      await createJobNaming(s, ['b']),
      await createJobNaming(s, ['a'], { tenantId: other }),
      await createJobNaming(s, ['a'], { slotAt: s.at(86_400) }),
    ]
    await change(s, paused, pause())
    await change(s, renamed, edit({ name: 'renamed' }))
    await noted(s, jobs)
    await put(s, 'a')
    assert.deepEqual(await noted(s, jobs), [soon.jobId, renamed.jobId].toSorted())
    // Twice before anybody has asked is told once.
    await put(s, 'a')
    await put(s, 'b')
    assert.deepEqual(await noted(s, jobs), [soon.jobId, renamed.jobId, jobs[3]!.jobId].toSorted())
    assert.deepEqual(await noted(s, jobs), [])
  })

  test(`${name}: a tenant has a thousand calendars at most, however many make the last one at once`, async (t) => {
    const s = await setup(t)
    const order = { tenantId, description: null, entries: [], by: 'tester' }
    for (let i = 0; i < calendarsMax - 1; i++) await put(s, `c${i}`, { entries: [] })
    // Connections are made first: else the first one is done before the second has one.
    await Promise.all(Array.from({ length: 4 }, () => s.calendars.get(tenantId, 'c0')))
    const outcomes = await Promise.all(
      ['w', 'x', 'y', 'z'].map((one) => s.calendars.put({ ...order, name: one })),
    )
    assert.equal(outcomes.filter(({ kind }) => kind === 'too_many').length, 3)
    assert.equal((await put(s, 'c0')).kind, 'replaced')
    assert.equal(await s.calendars.delete(tenantId, 'c1'), 'deleted')
    assert.equal((await put(s, 'more')).kind, 'created')
    assert.deepEqual(await s.calendars.put({ ...order, name: 'c1' }), { kind: 'too_many' })
  })
}
