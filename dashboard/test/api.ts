// The API as a program calls it, to set up a test before it looks at the page.
import assert from 'node:assert/strict'

interface Made {
  job_id: string
  name: string
}

export class Api {
  readonly #url: string
  readonly #headers: Record<string, string>

  constructor({ url, key }: { url: string; key: string }, tenantId?: string) {
    this.#url = url
    this.#headers = {
      authorization: `Bearer ${key}`,
      ...(tenantId !== undefined && { 'x-tenant-id': tenantId }),
    }
  }

  get<Reply>(path: string): Promise<Reply> {
    return this.#call('GET', path)
  }

  post<Reply>(path: string, body: object = {}): Promise<Reply> {
    return this.#call('POST', path, body)
  }

  patch<Reply>(path: string, body: object = {}): Promise<Reply> {
    return this.#call('PATCH', path, body)
  }

  delete(path: string): Promise<unknown> {
    return this.#call('DELETE', path)
  }

  /** A job that calls the echo of the server, once a year if nothing else is said. */
  makeJob(job: { name: string } & Record<string, unknown>): Promise<Made> {
    return this.post<Made>('/jobs', {
      schedule: '0 0 1 1 *',
      execution: { callback_url: `${this.#url}/echo`, payload: { hello: 'world' } },
      ...job,
    })
  }

  /** A job that fails at once, for good. */
  makeFailingJob(job: { name: string } & Record<string, unknown>): Promise<Made> {
    return this.makeJob({
      retry_policy: { max_retries: 0 },
      execution: { callback_url: `${this.#url}/echo?status=503`, payload: { order: 1 } },
      ...job,
    })
  }

  async trigger(jobId: string): Promise<string> {
    const { execution_id } = await this.post<{ execution_id: string }>(`/jobs/${jobId}/trigger`)
    return execution_id
  }

  /** Waits for the outcome. */
  async untilStatus(executionId: string, status: string): Promise<void> {
    await until(async () => {
      const execution = await this.get<{ status: string }>(`/executions/${executionId}`)
      return execution.status === status
    }, `${executionId} is ${status}`)
  }

  async #call<Reply>(method: string, path: string, body?: object): Promise<Reply> {
    const response = await fetch(`${this.#url}/api/v1${path}`, {
      method,
      headers: {
        ...this.#headers,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    assert(response.ok, `${method} ${path}: ${response.status} ${text}`)
    return (text === '' ? undefined : JSON.parse(text)) as Reply
  }
}

const waitMsMax = 60_000

export async function until(isSo: () => Promise<boolean>, what: string): Promise<void> {
  const startedMs = performance.now()
  while (!(await isSo())) {
    assert(performance.now() - startedMs < waitMsMax, `not within a minute: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
