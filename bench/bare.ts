// The limit of any scheduler that calls by undici: the same calls to the same target, and nothing else.
import { Agent } from 'undici'
import type { Target } from './target.ts'

const connections = 64

/** Calls a second. */
export async function measureBare(target: Target, seconds: number): Promise<number> {
  const agent = new Agent({ connections, pipelining: 1 })
  const startMs = performance.now()
  const untilMs = startMs + seconds * 1_000
  let calls = 0
  const call = () =>
    new Promise<void>((resolve, reject) => {
      agent.dispatch(
        {
          origin: target.url,
          path: '/',
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            'x-scheduled-time': '2026-01-01T00:00:00Z',
            'x-execution-id': 'bare',
          },
          body: '{"index":1}',
        },
        {
          onRequestStart() {},
          onResponseStart() {},
          onResponseData() {},
          onResponseEnd: () => resolve(),
          onResponseError: (_controller, error) => reject(error),
        },
      )
    })
  const callAgain = async () => {
    for (; performance.now() < untilMs; calls += 1) await call()
  }
  await Promise.all(Array.from({ length: connections }, callAgain))
  const tookS = (performance.now() - startMs) / 1_000
  await agent.close()
  await target.take()
  return calls / tookS
}
