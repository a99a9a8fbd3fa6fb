// PostgreSQL goes away under load: the API says so, nothing acknowledged is lost, and all goes on by itself.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'
import { makeDataDir } from '../data-dir.ts'
import { callApi, type ExecutionItem, until } from './api.ts'
import { kill, Program } from './program.ts'
import { startReceiver } from './receiver.ts'

test('while PostgreSQL is away the API answers 503, and afterwards jobs keep firing and acknowledged writes are there', async (t) => {
  const dataDir = await makeDataDir(t)
  const program = new Program(t, { dataDir })
  const url = await program.ready()
  const api = callApi(url, program.key())
  const receiver = await startReceiver(t)
  const execution = { callback_url: receiver.url }
  const ticking = await api.post<{ job_id: string }>('/jobs', {
    name: 'tick',
    schedule: '* * * * * *',
    execution,
  })
  await until(() => (receiver.calls.length >= 2 ? true : null), 'it ticks')

  const acknowledged: string[] = []
  const refused: { status: number; retryAfter: string | null }[] = []
  let killed = false
  // Until it was away and is back: requests answered with 201 count, requests answered with 503 may or may not.
  await until(async () => {
    const response = await fetch(`${url}/api/v1/jobs`, {
      method: 'POST',
      headers: { authorization: `Bearer ${program.key()}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'during', schedule: { type: 'IMMEDIATE' }, execution }),
    })
    const body = (await response.json()) as { execution_id?: string }
    if (response.status === 201) acknowledged.push(body.execution_id!)
    else refused.push({ status: response.status, retryAfter: response.headers.get('retry-after') })
    if (!killed) {
      const postmaster = Number((await readFile(join(dataDir, 'pg/postmaster.pid'), 'utf8')).split('\n')[0])
      kill(postmaster, 'SIGKILL')
      killed = true
    }
    return refused.length > 0 && response.status === 201 ? true : null
  }, 'PostgreSQL was away and is back')
  assert(
    refused.every(({ status, retryAfter }) => status === 503 && retryAfter !== null),
    JSON.stringify(refused),
  )

  await until(async () => {
    const statuses = await Promise.all(acknowledged.map((id) => api.get<ExecutionItem>(`/executions/${id}`)))
    return statuses.every(({ status }) => status === 'SUCCEEDED') ? true : null
  }, 'everything acknowledged has run')
  const seen = receiver.calls.length
  await until(() => (receiver.calls.length >= seen + 2 ? true : null), 'it ticks again')
  const { executions } = await api.get<{ executions: ExecutionItem[] }>(
    `/jobs/${ticking.job_id}/executions?limit=200`,
  )
  const slots = executions.map(({ scheduled_time: slot }) => slot)
  assert.equal(new Set(slots).size, slots.length, 'no slot has two executions')
})
