// Ten thousand jobs are deleted by one request, on a real server with a real database. How many seconds that takes is
// printed; the number of transactions has its bound in test/conformance/queue/delete-many.ts.
import assert from 'node:assert/strict'
import test from 'node:test'
import { realTimers } from '../../src/lib/time/timers.ts'
import { makeDataDir } from '../data-dir.ts'
import { callApi } from './api.ts'
import { Program } from './program.ts'

const count = 10_050
const clients = 20

interface Operation {
  operation_id: string
  status: string
  error: string | null
  progress: { total: number; total_capped: boolean; done: number; skipped: number }
}

test('one request deletes 10,050 jobs, each counted once, and no other job', {
  timeout: 600_000,
}, async (t) => {
  const program = new Program(t, { dataDir: await makeDataDir(t) })
  const api = callApi(await program.ready(), program.key())
  const job = { name: 'many', schedule: '@yearly', execution: { callback_url: 'http://127.0.0.1:9/' } }
  let left = count
  const createSome = async () => {
    while (left-- > 0) await api.post('/jobs', { ...job, tags: ['many'] }, 201)
  }
  await Promise.all(Array.from({ length: clients }, createSome))
  const other = await api.post<{ job_id: string }>('/jobs', { ...job, tags: ['other'] }, 201)

  const begunMs = performance.now()
  const request = { action: 'delete', filter: { tag: 'many' } }
  const { operation_id: operationId } = await api.post<Operation>('/jobs/bulk', request, 202)
  let operation: Operation
  do {
    await realTimers.wait(100)
    operation = await api.get<Operation>(`/operations/${operationId}`)
  } while (operation.status === 'RUNNING')
  t.diagnostic(`${count} jobs were deleted in ${((performance.now() - begunMs) / 1_000).toFixed(1)} s`)

  const { status, error, progress } = operation
  assert.deepEqual([status, error, progress.done, progress.skipped], ['COMPLETED', null, count, 0])
  interface JobPage {
    jobs: { job_id: string; status: string }[]
  }
  assert.deepEqual((await api.get<JobPage>('/jobs?tag=many')).jobs, [])
  const deleted = await api.get<JobPage>('/jobs?tag=many&status=DELETED&limit=10')
  assert.equal(deleted.jobs.length, 10)
  const [kept] = (await api.get<JobPage>('/jobs?tag=other')).jobs
  assert.deepEqual([kept?.job_id, kept?.status], [other.job_id, 'ACTIVE'])
})
