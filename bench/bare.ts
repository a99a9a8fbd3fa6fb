// The limit of any scheduler that calls by undici: the same calls to the same target, and nothing else.
import { Agent } from 'undici'
import type { Target } from './target.ts'

const connections = 64
const executionId = '019d371a-d2b0-7000-9098-f90466d5d100'
/** As many and as long as a call of ours has them, but made once: here nothing is hashed, signed or counted. */
export const headersOfCall = {
  'content-type': 'application/json',
  'user-agent': 'carillon/0.1.0',
  'x-idempotency-key': '0123456789abcdef0123456789abcdef',
  'x-execution-id': executionId,
  'x-job-id': executionId,
  'x-attempt-number': '1',
  'x-scheduled-time': '2026-01-01T00:00:00Z',
  traceparent: `00-${executionId.replaceAll('-', '')}-0123456789abcdef-01`,
  'webhook-id': executionId,
  'webhook-timestamp': '1767225600',
  'webhook-signature': `v1,${'a'.repeat(43)}=`,
  'x-carillon-token': 'a'.repeat(80),
  'x-carillon-completion-url': `http://127.0.0.1:7420/api/v1/executions/${executionId}/complete`,
}
export const bodyOfCall = '{"index":1}'

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
          headers: headersOfCall,
          body: bodyOfCall,
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
