// A step has bounds: however many wide runs there are, each step writes so much and no more, all come to their end, and
// small ones are not held up by them.
import assert from 'node:assert/strict'
import test from 'node:test'
import { fragment } from '../../src/lib/sql.ts'
import { selectNoted } from '../../src/postgres/graphs/run-steps.sql.ts'
import { isUnderWay } from '../../src/postgres/sql/fragments.ts'
import { type GraphScene, makeGraph } from '../conformance/graphs/graph-scenario.ts'
import { createRace, type Race } from './sessions.ts'

const names = (letter: string, count: number) => Array.from({ length: count }, (_, n) => `${letter}${n}`)

const firstId = '00000000-0000-0000-0000-000000000000'

/** One step writes 2,000 nodes: nine runs of this many. */
const width = 205

/** Runs of a wide graph, and after them one of a small one. */
async function makeWide(race: Race, count = 11) {
  const children = names('c', width).map((name) => `${name}>a`)
  const g = await makeGraph(race.s, `a ${children.join(' ')} x y>x`)
  const runIds: string[] = []
  for (let n = 0; n < count; n++) runIds.push(await g.trigger('a'))
  return { g, runIds, smallId: await g.trigger('x') }
}

const stepOnce = async ({ s, tools }: GraphScene) =>
  s.runSteps.step(await s.runSteps.findNoted(200, false), tools)

async function countRows({ client }: Race, rows: string): Promise<number> {
  const found = await client.query<{ count: string }>(`SELECT count(*) FROM ${rows}`)
  return Number(found.rows[0]!.count)
}

test('runs of a wide graph are made and let go some at a time, and a small one is not held up', async (t) => {
  const race = await createRace(t)
  const { g, runIds, smallId } = await makeWide(race)
  assert.equal((await stepOnce(g)).left, true)
  assert((await countRows(race, 'graph_runs')) < 12)
  assert((await countRows(race, `live WHERE state = 'blocked'`)) <= 2_000)
  assert.deepEqual(await g.states(smallId), { x: 'going', y: 'blocked' })
  await g.step()
  assert.equal(await countRows(race, 'graph_runs'), 12)

  for (const runId of runIds) await g.end(runId, 'a')
  await g.end(smallId, 'x')
  const first = await stepOnce(g)
  assert.equal(first.left, true)
  assert.equal(first.ready, 9 * width + 1, 'whole runs, as many as are not too much, and the small one')
  assert.equal(await countRows(race, `live WHERE state = 'blocked'`), 2 * width)
  assert.deepEqual(await g.states(smallId), { x: 'succeeded', y: 'going' })
  const last = await stepOnce(g)
  assert.deepEqual([last.ready, last.left], [2 * width, undefined])
  assert.equal(await countRows(race, 'run_notes'), 0)
})

test('runs of a wide graph are skipped and cancelled some at a time, the earliest noted first', async (t) => {
  const race = await createRace(t)
  const { g, runIds, smallId } = await makeWide(race)
  await g.step()
  for (const runId of runIds.slice(0, 10)) await g.end(runId, 'a', 'failed')
  const first = await stepOnce(g)
  assert.deepEqual([first.over, first.left], [Array(9).fill('FAILED'), true])
  assert.equal(await countRows(race, `attempts WHERE outcome = 'skipped'`), 9 * width)
  assert.equal((await g.get(runIds[9]!)).status, 'RUNNING')
  assert.deepEqual((await g.step()).over, ['FAILED'])

  const again = await Promise.all(names('', 11).map(() => g.trigger('a')))
  await g.step()
  for (const runId of again) {
    const note = [runId, g.jobOf('a').jobId]
    await race.client.query(
      `INSERT INTO run_notes (run_id, what, job_id, execution_id, at, message)
      VALUES ($1, 'cancel', $2, $1, clock_ms(), 'enough')`,
      note,
    )
  }
  const cancelled = await stepOnce(g)
  assert.deepEqual([cancelled.over, cancelled.left], [Array(9).fill('CANCELLED'), true])
  assert.deepEqual((await g.step()).over, ['CANCELLED', 'CANCELLED'])
  assert.equal(await countRows(race, `attempts WHERE error_message = 'enough'`), 11 * (width + 1))
  assert.equal((await g.get(smallId)).status, 'RUNNING')
})

test('of wide runs only so many are looked at in one step, also when nothing comes of it', async (t) => {
  const race = await createRace(t)
  const { g } = await makeWide(race, 98)
  await g.step()
  await race.client.query(
    `INSERT INTO run_notes (run_id, what, job_id, execution_id, at)
    SELECT run_id, 'end', job_ids[1], gen_random_uuid(), clock_ms() FROM graph_runs`,
  )
  assert.equal((await stepOnce(g)).left, true)
  assert.equal(await countRows(race, 'run_notes'), 99 - Math.floor(20_000 / (width + 1)) - 1)
  await stepOnce(g)
  assert.equal(await countRows(race, 'run_notes'), 0)
})

test('of a graph with many roots so many runs are made in one step that its jobs are not looked at for ever', async (t) => {
  const race = await createRace(t)
  const { s } = race
  const roots = names('r', 200)
  const schedule = { type: 'CRON', cron_expression: '0 3 29 2 *' } as const
  const changes = Object.fromEntries(roots.map((name) => [name, { schedule }]))
  const g = await makeGraph(s, `a c>a ${roots.join(' ')} d>${roots.join(',')} e>c,d`, changes)
  const slots = await Promise.all(names('', 110).map((_, n) => g.slotOf('a', n)))
  assert.deepEqual(await s.slots.fire(slots), [])
  const noted = await s.runSteps.findNoted(200, false)
  assert.equal(noted.length, 110)
  assert.equal((await s.runSteps.step(noted, g.tools)).left, true)
  assert.equal(await countRows(race, 'graph_runs'), Math.floor(20_000 / 204))
  await g.step()
  assert.equal(await countRows(race, 'graph_runs'), 110)
})

test('the check for executions in progress does not scan the blocked executions of a job, and misses none in progress', async (t) => {
  const race = await createRace(t)
  const { s, client } = race
  const g = await makeGraph(s, 'a b>a', { b: { overlapPolicy: 'SKIP' } })
  await g.trigger('a')
  await g.step()
  await client.query(
    `INSERT INTO live (execution_id, job_id, version, tenant_id, kind, state, route, lane, priority, slot, enqueued_at, rank,
      run_id)
    SELECT (lpad(to_hex(n), 12, '0') || '70008000000000000000')::uuid, l.job_id, l.version, l.tenant_id, l.kind, l.state,
      l.route, l.lane, l.priority, l.slot, l.enqueued_at, l.rank, l.run_id
    FROM live l CROSS JOIN generate_series(1, 20100) AS n WHERE l.state = 'blocked'`,
  )
  await client.query('ANALYZE live')
  const { tenantId, jobId } = g.jobOf('b')
  const asked = isUnderWay(fragment`$1`, fragment`false`)
  const query = `EXPLAIN (ANALYZE, FORMAT JSON) SELECT ${asked.text}`
  const { rows } = await client.query(query, [jobId])
  assert.equal(removedIn(rows[0]['QUERY PLAN'][0].Plan), 0)

  await s.trigger(g.jobOf('b'))
  const { executions } = (await s.executions.underWay(tenantId, jobId))!
  assert.equal(executions[0]!.kind, 'trigger')
})

test('runs with notes are found without reading all notes, and each look finds the next runs', async (t) => {
  const race = await createRace(t)
  const { s, client } = race
  const g = await makeGraph(s, 'a b>a')
  const runIds: string[] = []
  for (let n = 0; n < 6; n++) runIds.push(await g.trigger('a'))
  await client.query(
    `INSERT INTO run_notes (run_id, what, job_id, execution_id, at)
    SELECT run_id, what, job_id, execution_id, at FROM run_notes CROSS JOIN generate_series(1, 5000)`,
  )
  await client.query('ANALYZE run_notes')
  const { text } = selectNoted
  const values = [4, [], firstId, firstId]
  const { rows } = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values)
  assert(readIn(rows[0]['QUERY PLAN'][0].Plan) < 20, JSON.stringify(rows))

  const failing = { ...g.tools, newExecutionId: () => assert.fail('no id is to be had') }
  assert.deepEqual(await s.runSteps.findNoted(4, false), runIds.slice(0, 4))
  await assert.rejects(s.runSteps.step(runIds.slice(0, 4), failing), /no id is to be had/)
  assert.deepEqual(await s.runSteps.findNoted(2, false), runIds.slice(0, 2), 'a failed step is repeated')
  assert.deepEqual(await s.runSteps.findNoted(4, false), runIds.slice(0, 4))
  // None of them is stepped, as if another process had them.
  await s.runSteps.step([s.ids.next()], g.tools)
  assert.deepEqual(
    await s.runSteps.findNoted(4, false),
    [0, 1, 4, 5].map((n) => runIds[n]),
  )
})

test('each tenant has its turn also when one run is looked for at a time, and some runs are left out', async (t) => {
  const { s, client } = await createRace(t)
  const g = await makeGraph(s, 'a b>a')
  const runIds = [await g.trigger('a'), await g.trigger('a'), await g.trigger('a')]
  const tenants = runIds.map((_, n) => `00000000-0000-7000-8000-00000000000${n + 1}`)
  for (const [n, runId] of runIds.entries())
    await client.query('UPDATE run_notes SET tenant_id = $2 WHERE run_id = $1', [runId, tenants[n]])
  for (const runId of [...runIds, ...runIds]) {
    assert.deepEqual(await s.runSteps.findNoted(1, false), [runId])
    await s.runSteps.step([s.ids.next()], g.tools)
  }
  assert.deepEqual(await s.runSteps.findNoted(1, false, runIds.slice(0, 2)), runIds.slice(2))
})

interface Plan {
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: Plan[]
}

/** Rows that were read and not wanted. */
function removedIn({ 'Rows Removed by Filter': own = 0, Plans: below = [] }: Plan): number {
  return below.reduce((sum, plan) => sum + removedIn(plan), own)
}

/** Rows that were read of tables. */
function readIn(plan: Plan): number {
  const own = plan['Relation Name'] === undefined ? 0 : plan['Actual Rows'] * plan['Actual Loops']
  return (plan.Plans ?? []).reduce((sum, below) => sum + readIn(below), own)
}
