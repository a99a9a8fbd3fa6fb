// One attempt of the HTTP executor against a scripted target, for its tests.
import assert from 'node:assert/strict'
import type { HttpExecution } from '../src/domain/executors/http.ts'
import type { RetryPolicy } from '../src/domain/queue/retry.ts'
import { epochMs } from '../src/lib/time/epoch.ts'
import type { Http, HttpErrorType, HttpRequest } from '../src/ports/http.ts'
import type { CallToSign } from '../src/worker/call-signer.ts'
import { runHttp } from '../src/worker/executors/http.ts'
import type { HeldExecution } from '../src/worker/held-execution.ts'
import { type PreparedHttp, prepare } from '../src/worker/prepare.ts'
import { createVirtualWorld, type ScriptedAnswer } from './virtual-world.ts'

export const origin = 'https://example.com:8443'
export const jobId = '019b7a00-4c00-7000-8000-000000000001'
export const executionId = '019b7a00-4c00-7000-8000-0000000000a7'
export const slot = epochMs(Date.UTC(2026, 0, 25, 10))
export interface Given {
  execution?: Partial<HttpExecution>
  retryPolicy?: Partial<RetryPolicy>
  held?: Partial<HeldExecution>
  publicUrl?: string
}

/** Answers with the values that it was asked to sign. */
const sign = ({ tenantId, executionId: id, attempt, fence, timestamp, body }: CallToSign) => ({
  token: `token of ${tenantId} ${id} ${attempt} ${fence}`,
  signature: `signature of ${id}.${timestamp}.${body}`,
})

export function setup(given: Given = {}) {
  const world = createVirtualWorld()
  // In the middle: delays are as the policy has them.
  const random = { ...world.random, next: () => 0.5 }
  const execution: HttpExecution = {
    type: 'http',
    callback_url: `${origin}/hook?a=1`,
    method: 'PUT',
    headers: {},
    timeout_seconds: 30,
    ...given.execution,
  }
  const retryPolicy: RetryPolicy = {
    ...{ max_retries: 3, backoff: 'FIXED', initial_delay_ms: 1_000, max_delay_ms: 60_000 },
    ...given.retryPolicy,
  }
  const definition = {
    jobId,
    version: 1,
    tenantId: 't',
    name: 'report',
    execution,
    retryPolicy,
    priority: 5,
    jitterSeconds: 0,
  }
  const made = prepare(definition, '1.2.3')
  assert(made.executor === 'http')
  const prepared: PreparedHttp = made
  const held: HeldExecution = {
    ...{ executionId, jobId, version: 1, kind: 'slot', lane: 'shared', slot, enqueuedAt: slot },
    ...{ attempt: 1, losses: 0, prepared, bodyOverride: null, idempotencyKey: null },
    ...{ checkpoint: null, totalDeadline: null, isSuspect: false, awaitingUntil: null },
    ...{ runId: null, parents: [] },
    ...{ batch: null, position: 0, fence: 1, claimedMs: 0, status: 'running', startedAt: null },
    ...{
      end: null,
      abort: null,
      cancelledMs: null,
      isOver: false,
      isBeyondShare: false,
      waitsAs: null,
      leaving: false,
    },
    ...given.held,
  }
  function start(http: Http = world.http) {
    const spanId = () => '00f067aa0ba902b7'
    const publicUrl = () => given.publicUrl ?? null
    const deps = { clock: world.clock, http, random, spanId, signer: { sign }, publicUrl }
    const abort = new AbortController()
    return { abort, ended: runHttp(deps, held, prepared, abort.signal) }
  }
  /** Runs the attempt to its end, however long that takes. */
  async function run(http: Http = world.http) {
    const { ended } = start(http)
    await world.advance(3_600_000)
    return ended
  }
  /** Runs the attempt against a target that gives this answer. */
  async function answered(answer: ScriptedAnswer) {
    world.http.answer(origin, () => answer)
    return (await run()).end!
  }
  async function failed(type: HttpErrorType, message = 'as the client says it') {
    return (await run({ send: async () => ({ kind: 'failed', type, message }) })).end
  }
  async function sent(): Promise<HttpRequest> {
    await answered({ status: 200 })
    return world.http.sent[0]!.request
  }
  return { world, held, prepared, start, run, answered, failed, sent, startAt: world.clock.databaseNow() }
}
