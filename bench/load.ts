// Jobs due every second on a target of their own, and a record of which calls arrived when.
import { Pool } from 'undici'
import type { Carillon } from './carillon.ts'
import { type Arrival, percentile, type Target } from './target.ts'

export interface LoadResult {
  executionsPerS: number
  /** Lateness at the receiver, ms. */
  p50: number
  p99: number
  max: number
  early: number
  /** Slots of the measured time that never came, and slots that came twice. */
  missing: number
  doubled: number
}

const createdAtOnce = 32
const operationMsMax = 120_000

export const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Creates `count` jobs, as a user would; returns their ids. */
export async function createJobs(
  carillon: Carillon,
  target: Pick<Target, 'url'>,
  count: number,
  { tag = 'bench', schedule = '* * * * * *' } = {},
): Promise<string[]> {
  const ids: string[] = []
  const pool = new Pool(carillon.url, { connections: createdAtOnce })
  const numbers = Array(count).keys()
  const create = async () => {
    for (const index of numbers) {
      const { statusCode, body } = await pool.request({
        path: '/api/v1/jobs',
        method: 'POST',
        headers: { authorization: `Bearer ${carillon.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          name: `bench ${index}`,
          schedule,
          execution: { callback_url: `${target.url}/${index % 100}`, payload: { index } },
          tags: [tag],
        }),
      })
      if (statusCode !== 201) throw new Error(`create: ${statusCode} ${await body.text()}`)
      ids.push(((await body.json()) as { job_id: string }).job_id)
    }
  }
  await Promise.all(Array.from({ length: createdAtOnce }, create))
  await pool.close()
  return ids
}

/** Pauses or resumes all jobs with this tag, and returns once it is done. */
export async function switchJobs(
  { url, key }: Carillon,
  action: 'pause' | 'resume',
  tag: string,
): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ action, filter: { tag } })
  const asked = await fetch(`${url}/api/v1/jobs/bulk`, { method: 'POST', headers, body })
  const { operation_id: id } = (await asked.json()) as { operation_id: string }
  const untilMs = performance.now() + operationMsMax
  while (performance.now() < untilMs) {
    const answer = await fetch(`${url}/api/v1/operations/${id}`, { headers })
    const { status } = (await answer.json()) as { status: string }
    if (status === 'COMPLETED') return
    if (status === 'FAILED') throw new Error(`${action} of ${tag} failed`)
    await wait(50)
  }
  throw new Error(`${action} of ${tag} took longer than ${operationMsMax} ms`)
}

/** Measures whole seconds, then waits for late executions. */
export async function measure(target: Target, jobs: number, seconds: number): Promise<LoadResult> {
  await target.take()
  const fromMs = (Math.floor(Date.now() / 1_000) + 2) * 1_000
  const toMs = fromMs + seconds * 1_000
  const arrivals: Arrival[] = []
  while (Date.now() < toMs + 3_000) {
    await wait(1_000)
    arrivals.push(...(await target.take()))
  }
  return summarise(
    arrivals.filter(({ slotMs }) => slotMs >= fromMs && slotMs < toMs),
    jobs,
    seconds,
  )
}

function summarise(arrivals: readonly Arrival[], jobs: number, seconds: number): LoadResult {
  const late = arrivals.map(({ atMs, slotMs }) => atMs - slotMs).toSorted((a, b) => a - b)
  const executions = new Set(arrivals.map(({ executionId }) => executionId)).size
  return {
    executionsPerS: executions / seconds,
    p50: percentile(late, 0.5),
    p99: percentile(late, 0.99),
    max: percentile(late, 1),
    early: late.filter((ms) => ms < 0).length,
    missing: jobs * seconds - executions,
    doubled: arrivals.length - executions,
  }
}
