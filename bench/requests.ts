// Many requests at once to one API, and how long each took.
import { Pool } from 'undici'
import type { Carillon } from './carillon.ts'
import { percentile } from './target.ts'

export interface Call {
  method: 'GET' | 'POST'
  path: string
  body?: string
  headers?: Record<string, string>
}

export interface Timing {
  perS: number
  p50: number
  p99: number
  max: number
  count: number
}

/**
 * Keeps `at` requests in flight all the time, or with `perS` starts one at fixed times regardless of the answers; the
 * time of an answer then counts from when its request was due.
 */
export async function measureCalls(
  { url, key }: Carillon,
  options: { seconds: number; at: number; perS?: number; expected: number },
  next: (index: number) => Call,
): Promise<Timing> {
  const { seconds, at, perS, expected } = options
  const pool = new Pool(url, { connections: at, pipelining: 1 })
  const authorization = `Bearer ${key}`
  const times: number[] = []
  let index = 0
  async function send(dueMs: number): Promise<void> {
    const { method, path, body, headers = {} } = next(index++)
    const json = body === undefined ? {} : { 'content-type': 'application/json' }
    const given = { method, path: `/api/v1${path}`, headers: { authorization, ...json, ...headers } }
    const answer = await pool.request(body === undefined ? given : { ...given, body })
    if (answer.statusCode !== expected)
      throw new Error(`${method} ${path}: ${answer.statusCode} ${await answer.body.text()}`)
    await answer.body.dump()
    times.push(performance.now() - dueMs)
  }
  const startMs = performance.now()
  const endMs = startMs + seconds * 1_000
  async function follow(): Promise<void> {
    while (performance.now() < endMs) await send(performance.now())
  }
  if (perS === undefined) await Promise.all(Array.from({ length: at }, follow))
  else await sendOnTime(perS, startMs, endMs, send)
  const tookS = (performance.now() - startMs) / 1_000
  await pool.close()
  times.sort((a, b) => a - b)
  const [p50, p99, max] = [0.5, 0.99, 1].map((share) => percentile(times, share))
  return { perS: times.length / tookS, p50: p50!, p99: p99!, max: max!, count: times.length }
}

async function sendOnTime(
  perS: number,
  startMs: number,
  endMs: number,
  send: (dueMs: number) => Promise<void>,
): Promise<void> {
  const sent: Promise<void>[] = []
  for (let n = 0; ; n++) {
    const dueMs = startMs + (n * 1_000) / perS
    if (dueMs >= endMs) break
    const waitMs = dueMs - performance.now()
    if (waitMs > 1) await new Promise((resolve) => setTimeout(resolve, waitMs))
    sent.push(send(dueMs))
  }
  await Promise.all(sent)
}
