// Targets that hang, reset, stream for ever, answer a gigabyte or redirect harm nothing but their own attempts.
import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import test from 'node:test'
import { makeDataDir } from '../data-dir.ts'
import { callApi, type ExecutionItem, until } from './api.ts'
import { Program } from './program.ts'
import { type Call, startReceiver } from './receiver.ts'

const chunk = Buffer.alloc(64 * 1024, 'x')

function answerBadly({ path }: Call, response: ServerResponse, request: IncomingMessage): void {
  if (path === '/good') response.end('ok')
  else if (path === '/reset') request.socket.resetAndDestroy()
  else if (path === '/redirect') response.writeHead(302, { location: '/good' }).end()
  else if (path === '/gigabyte') pour(response, 1024 ** 3)
  else if (path === '/stream') drip(response)
}

function pour(response: ServerResponse, left: number): void {
  while (left > 0 && !response.destroyed) {
    left -= chunk.length
    if (!response.write(chunk)) {
      response.once('drain', () => pour(response, left))
      return
    }
  }
  if (!response.destroyed) response.end()
}

function drip(response: ServerResponse): void {
  const timer = setInterval(() => response.write('x'), 50)
  response.on('close', () => clearInterval(timer))
}

const expected: Record<string, [status: string, type: string]> = {
  '/hang': ['TIMED_OUT', 'TIMEOUT'],
  '/stream': ['TIMED_OUT', 'TIMEOUT'],
  '/reset': ['FAILED', 'CONNECTION_RESET'],
  '/gigabyte': ['FAILED', 'RESPONSE_TOO_LARGE'],
  '/redirect': ['FAILED', 'HTTP_ERROR'],
}

test('calls to bad targets end with the matching outcome, and a good job ticks on beside them', async (t) => {
  const program = new Program(t, { dataDir: await makeDataDir(t) })
  const api = callApi(await program.ready(), program.key())
  const receiver = await startReceiver(t, { answer: answerBadly })
  const execution = { callback_url: `${receiver.url}/good` }
  const good = await api.post<{ job_id: string }>('/jobs', {
    name: 'good',
    schedule: '* * * * * *',
    execution,
  })
  const ids = new Map<string, string>()
  for (const path of Object.keys(expected)) {
    const job = await api.post<{ execution_id: string }>('/jobs', {
      name: path,
      schedule: { type: 'IMMEDIATE' },
      execution: { callback_url: receiver.url + path, timeout_seconds: 2 },
      retry_policy: { max_retries: 0 },
    })
    ids.set(path, job.execution_id)
  }
  for (const [path, [status, type]] of Object.entries(expected)) {
    const ended = await until(async () => {
      const one = await api.get<ExecutionItem>(`/executions/${ids.get(path)}`)
      return one.status === 'PENDING' || one.status === 'RUNNING' ? null : one
    }, `${path} ended`)
    assert.deepEqual([ended.status, ended.error?.type], [status, type], path)
  }
  const { executions } = await api.get<{ executions: ExecutionItem[] }>(`/jobs/${good.job_id}/executions`)
  assert(executions.length >= 2)
  assert(
    executions.every(({ status }) => status === 'SUCCEEDED' || status === 'RUNNING' || status === 'PENDING'),
  )
  assert.equal(receiver.calls.filter(({ path }) => path === '/redirect').length, 1)
})
