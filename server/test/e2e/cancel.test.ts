// Cancelling running executions, over HTTP, against a real target: one outcome, however many callers ask and however often.
import assert from 'node:assert/strict'
import test from 'node:test'
import { type ExecutionItem, until, untilStatus } from './api.ts'
import { createJob, start } from './cancel-scene.ts'
import { startReceiver } from './receiver.ts'

interface Attempted extends ExecutionItem {
  attempts: { outcome: string; http_status: number | null; error: { type: string; message: string } | null }[]
}

test('a running execution is stopped at once: its call is aborted, and every later cancel is told that it is CANCELLED', async (t) => {
  const { api, cancel } = await start(t)
  let aborted = 0
  const receiver = await startReceiver(t, {
    answer: (_call, response) => void response.on('close', () => (aborted += 1)),
  })
  const jobId = await createJob(api, receiver.url)
  const { execution_id: id } = await api.post<{ execution_id: string }>(`/jobs/${jobId}/trigger`, {})
  await until(() => (receiver.calls.length === 1 ? true : null), 'it is called')
  const answer = (status: number, name: string) => ({
    status,
    body: { execution_id: id, job_id: jobId, status: name },
  })
  const [cancelling, over] = [answer(202, 'CANCELLING'), answer(200, 'CANCELLED')]
  const both = await Promise.all([cancel(id), cancel(id)])
  assert(
    both.some(({ status }) => status === 202),
    'one of them found it running',
  )
  // The other one may have come after the call was aborted.
  for (const one of both) assert.deepEqual(one, one.status === 202 ? cancelling : over)
  await untilStatus(api, id, 'CANCELLED')
  await until(() => (aborted === 1 ? true : null), 'the call is aborted')
  for (let again = 0; again < 2; again += 1) assert.deepEqual(await cancel(id), over)
  const { attempts } = await api.get<Attempted>(`/executions/${id}`)
  assert.deepEqual(
    attempts.map(({ outcome, error }) => [outcome, error?.type]),
    [['cancelled', 'CANCELLED']],
  )
})

test('many are cancelled by a filter; past slots are run by a backfill', async (t) => {
  const { api } = await start(t)
  const receiver = await startReceiver(t, {
    answer: ({ path }, response) => void (path === '/hang' ? null : response.end('done')),
  })
  const jobId = await createJob(api, `${receiver.url}/hang`)
  const ids: string[] = []
  for (let i = 0; i < 20; i++)
    ids.push((await api.post<{ execution_id: string }>(`/jobs/${jobId}/trigger`, {})).execution_id)
  await until(() => (receiver.calls.length === 20 ? true : null), 'all are called')
  interface Operation {
    operation_id: string
    status: string
    progress: { total: number; done: number }
  }
  const over = ({ operation_id: id }: Operation) =>
    until(async () => {
      const operation = await api.get<Operation>(`/operations/${id}`)
      return operation.status === 'RUNNING' ? null : operation
    }, 'the operation is over')
  const cancelling = await api.post<Operation>('/executions/cancel', { filter: { job_id: jobId } }, 202)
  const { status, progress } = await over(cancelling)
  assert.deepEqual([status, progress.done, progress.total], ['COMPLETED', 20, 20])
  for (const id of ids) await untilStatus(api, id, 'CANCELLED')

  const daily = await api.post<{ job_id: string }>('/jobs', {
    name: 'daily',
    schedule: '0 3 * * *',
    execution: { callback_url: `${receiver.url}/past` },
  })
  const range = { from: '2026-01-01T00:00:00Z', to: '2026-01-10T23:59:59Z' }
  const backfill = await api.post<Operation>(
    `/jobs/${daily.job_id}/backfill`,
    { ...range, max_concurrent: 2 },
    202,
  )
  assert.deepEqual((await over(backfill)).progress, { ...backfill.progress, done: 10 })
  const past = receiver.calls.filter(({ path }) => path === '/past')
  const times = past.map(({ headers }) => String(headers['x-scheduled-time'])).toSorted()
  assert.deepEqual(
    times,
    Array.from({ length: 10 }, (_, i) => `2026-01-${String(i + 1).padStart(2, '0')}T03:00:00Z`),
  )
  const { executions } = await api.get<{ executions: ExecutionItem[] }>(`/jobs/${daily.job_id}/executions`)
  assert(executions.length === 10 && executions.every(({ kind }) => kind === 'backfill'))
})
