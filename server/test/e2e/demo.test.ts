// `--demo` as seen by a newcomer that wants to look around: a world that moves, made once.
import assert from 'node:assert/strict'
import test from 'node:test'
import { type Api, type ExecutionItem, until } from './api.ts'
import { openApi, type Page, prepareDemo } from './demo-program.ts'

const dayMs = 86_400_000

async function countOf(api: Api, path: string): Promise<number> {
  return (await api.get<Page>(path)).pagination.total
}

interface Slot {
  status: string
  execution_id: string
}

/** The first hundred of a day. */
async function slotsOf(api: Api, jobId: string, day: string): Promise<Slot[]> {
  return (await api.get<{ slots: Slot[] }>(`/jobs/${jobId}/slots?from=${day}&limit=100`)).slots
}

test('a demo has jobs, a month of history, dead letters and something that runs, and the next start adds nothing', {
  timeout: 300_000,
}, async (t) => {
  const { start } = await prepareDemo(t)
  const first = start(['--demo'])
  const api = await openApi(first)
  assert.match(first.stdout, /Demo: 40 jobs of 2 tenants .* attempts of the last 30 days, \d+ dead letters\./)

  const { tenants } = await api.get<{ tenants: { name: string; tenant_id: string }[] }>('/tenants')
  assert.deepEqual(tenants.map(({ name }) => name).toSorted(), ['Northwind', 'default'])
  const jobs = await countOf(api, '/jobs?limit=1')
  const { job_id: jobId } = (await api.get<{ jobs: { job_id: string }[] }>('/jobs?q=sync%20the%20inventory'))
    .jobs[0]!

  const running = await until(async () => {
    const { executions } = await api.get<{ executions: (ExecutionItem & { job_name: string })[] }>(
      '/executions?status=RUNNING',
    )
    const found = executions.find(({ job_name: name }) => name === 'Rebuild the search index')
    if (found === undefined) return null
    const { progress } = await api.get<{ progress: { fraction: number } | null }>(
      `/executions/${found.execution_id}`,
    )
    return progress !== null && progress.fraction > 0 ? found.execution_id : null
  }, 'the long job says how far it is')
  const { logs } = await api.get<{ logs: object[] }>(`/executions/${running}/logs`)
  assert(logs.length > 0)

  const run = await until(async () => {
    type Runs = { graph_runs: { graph_run_id: string; nodes_by_status: Record<string, number> }[] }
    const { graph_runs: runs } = await api.get<Runs>('/graph-runs?status=FAILED')
    return runs[0] ?? null
  }, 'a graph run fails')
  assert.deepEqual(run.nodes_by_status, { SUCCEEDED: 2, FAILED: 1, SKIPPED: 1 })
  await api.post(`/graph-runs/${run.graph_run_id}/resume`, {})
  await until(async () => {
    const { status } = await api.get<{ status: string }>(`/graph-runs/${run.graph_run_id}`)
    return status === 'SUCCEEDED' ? status : null
  }, 'the resumed run succeeds')

  const letters = await countOf(api, '/dead-letters')
  assert(letters >= 12, `${letters} dead letters`)
  const now = Date.parse(`${new Date().toISOString().slice(0, 10)}T00:00:00Z`)
  const at = (days: number) => encodeURIComponent(new Date(now + days * dayMs).toISOString())
  type Activity = { activity: { succeeded: number; retries: number; dead_letters: number }[] }
  const { activity } = await api.get<Activity>(`/activity?step=day&from=${at(-31)}&to=${at(1)}`)
  assert(activity.length >= 30, `${activity.length} days`)
  // Late in the day little of the first one is within the month, and early little of today has passed.
  const whole = activity.slice(1, -1)
  assert(
    whole.every(({ succeeded }) => succeeded > 100),
    JSON.stringify(activity),
  )
  const fourWeeksAgo = await slotsOf(api, jobId, at(-28))
  assert.deepEqual(
    fourWeeksAgo.map(({ status }) => status),
    Array(100).fill('SUCCEEDED'),
  )
  const { attempts } = await api.get<{ attempts: object[] }>(`/executions/${fourWeeksAgo[0]!.execution_id}`)
  assert(attempts.length > 0)

  first.child.kill('SIGTERM')
  assert.equal(await first.exit, 0, first.said())
  const second = start(['--demo'])
  const again = await openApi(second)
  assert.match(second.stdout, /Demo: the world is there already; nothing was added\./)
  assert.equal(await countOf(again, '/jobs?limit=1'), jobs)
  assert.equal(await countOf(again, '/dead-letters'), letters)
  assert.deepEqual(await slotsOf(again, jobId, at(-28)), fourWeeksAgo)
})

test('a demo is refused where there are jobs already, and nothing is left running', {
  timeout: 300_000,
}, async (t) => {
  const { start } = await prepareDemo(t)
  const first = start()
  const api = await openApi(first)
  await api.post('/jobs', {
    name: 'Mine',
    schedule: '@daily',
    execution: { callback_url: 'http://127.0.0.1:9/' },
  })
  first.child.kill('SIGTERM')
  assert.equal(await first.exit, 0, first.said())
  const second = start(['--demo'])
  assert.equal(await second.exit, 1)
  assert.match(second.stderr, /--demo fills an empty installation; this one has jobs such as Mine\./)
  assert.deepEqual(second.tree(), [])
})
