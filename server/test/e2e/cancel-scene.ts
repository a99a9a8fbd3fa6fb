// A server whose executions are cancelled over HTTP.
import type { TestContext } from 'node:test'
import { makeDataDir } from '../data-dir.ts'
import { type Api, callApi } from './api.ts'
import { Program } from './program.ts'

export interface Cancelled {
  status: number
  body: { status?: string; code?: string; execution_status?: string }
}

export async function start(t: TestContext) {
  const program = new Program(t, { dataDir: await makeDataDir(t) })
  const url = await program.ready()
  const api = callApi(url, program.key())
  const headers = { authorization: `Bearer ${program.key()}` }
  const cancel = async (executionId: string): Promise<Cancelled> => {
    const response = await fetch(`${url}/api/v1/executions/${executionId}/cancel`, {
      method: 'POST',
      headers,
    })
    return { status: response.status, body: (await response.json()) as Cancelled['body'] }
  }
  return { api, cancel }
}

export async function createJob(api: Api, callback_url: string): Promise<string> {
  const { job_id: jobId } = await api.post<{ job_id: string }>('/jobs', {
    name: 'by hand',
    schedule: '0 0 1 1 *',
    overlap_policy: 'ALLOW',
    execution: { callback_url },
    retry_policy: { max_retries: 0 },
  })
  return jobId
}
