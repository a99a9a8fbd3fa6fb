// Jobs due every second on a target of their own, and what of them arrived when.
import type { Carillon } from './carillon.ts'
import { type Arrival, percentile, type Target } from './target.ts'

export interface LoadResult {
  executionsPerS: number
  /** Lateness at the receiver, ms. */
  p50: number
  p99: number
  max: number
  early: number
  /** Slots of the measured time that never came, and those that came twice. */
  missing: number
  doubled: number
}

export const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Creates `count` jobs that run every second; returns their ids. */
export async function createJobs(carillon: Carillon, target: Target, count: number): Promise<string[]> {
  const ids: string[] = []
  const create = async (index: number) => {
    const response = await fetch(`${carillon.url}/api/v1/jobs`, {
      method: 'POST',
      headers: { authorization: `Bearer ${carillon.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        name: `bench ${index}`,
        schedule: '* * * * * *',
        execution: { callback_url: `${target.url}/${index % 100}`, payload: { index } },
      }),
    })
    if (response.status !== 201) throw new Error(`create: ${response.status} ${await response.text()}`)
    ids.push(((await response.json()) as { job_id: string }).job_id)
  }
  for (let index = 0; index < count; index += 16) {
    await Promise.all(Array.from({ length: Math.min(16, count - index) }, (_, k) => create(index + k)))
  }
  return ids
}

/** Measures whole seconds; what is late at their end is waited for. */
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
