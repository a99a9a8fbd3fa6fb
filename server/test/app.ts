// The real API app on the memory store, for tests of the edge.
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { ERRORS, type ErrorCode } from '@carillon/contract/errors.ts'
import type { FastifyInstance } from 'fastify'
import { TenantCensus } from '../src/api/access/tenant-census.ts'
import { type AppDeps, createApp } from '../src/api/app.ts'
import { RequestShares } from '../src/api/http/request-shares.ts'
import type { AttemptEnd } from '../src/domain/queue/attempt.ts'
import { sharedLane } from '../src/domain/queue/lane.ts'
import { serverRoute } from '../src/domain/queue/route.ts'
import type { Worker } from '../src/domain/queue/worker.ts'
import type { Ending } from '../src/ports/queue.ts'
import type { WakeupTopic } from '../src/ports/wakeup.ts'
import { withoutDashboard } from '../src/process/dashboard-files.ts'
import { openMemoryStore } from '../testing/memory-store/open-memory-store.ts'
import { cleanUp } from './cleanup.ts'
import { createVirtualWorld } from './virtual-world.ts'

export const operatorKey = 'crl_test-operator-key'

export interface Answer {
  statusCode: number
  headers: Record<string, unknown>
  body: string
}

/** Whichever door it left by, it is a problem document of the registry. */
export function assertProblem(answer: Answer, code: ErrorCode, pointer?: string): void {
  assert.match(String(answer.headers['content-type']), /^application\/problem\+json/, answer.body)
  const problem = JSON.parse(answer.body)
  assert.equal(problem.code, code, answer.body)
  assert.equal(answer.statusCode, ERRORS[code].status)
  assert.equal(problem.status, answer.statusCode)
  assert.equal(problem.type, `urn:carillon:error:${code}`)
  assert(problem.detail.length > 0 && problem.help.length > 0)
  if (pointer !== undefined) assert.equal(problem.errors[0].pointer, pointer, answer.body)
}

export interface AppChanges extends Partial<AppDeps> {
  /** Adds routes before the app is ready. */
  extend?: (app: FastifyInstance) => void
}

export async function setupApp(t: TestContext, { extend, ...changes }: AppChanges = {}) {
  const world = createVirtualWorld()
  const memory = openMemoryStore(world.clock)
  const { workers } = memory
  /** The wake-ups that were sent. */
  const woken: WakeupTopic[] = []
  const listeners: { topic: WakeupTopic; listener: () => void }[] = []
  const wakeup = {
    send(topic: WakeupTopic) {
      woken.push(topic)
      for (const one of listeners) if (one.topic === topic) one.listener()
    },
    on: (topic: WakeupTopic, listener: () => void) => void listeners.push({ topic, listener }),
  }
  const app = await createApp({
    clock: world.clock,
    timers: world.timers,
    ids: world.ids,
    random: world.random,
    ...memory,
    wakeup,
    events: memory,
    census: new TenantCensus({ clock: world.clock, tenants: changes.tenants ?? memory.tenants }),
    requestShares: new RequestShares({ ...memory, clock: world.clock, processId: 'this process' }),
    rowSecurityOff: null,
    operatorKey,
    provableKey: null,
    isEchoOpen: true,
    connectionsWanted: 20,
    publicUrl: null,
    hosts: null,
    trustedProxies: [],
    dashboard: withoutDashboard('it was not asked for.'),
    checkTarget: () => null,
    isStopping: () => false,
    runsArtifacts: false,
    health: {
      version: '1.2.3',
      roles: ['api'],
      checkReady: async () => ({ database: 'ok' }),
      metrics: { contentType: 'text/plain', read: async () => 'carillon_info 1\n' },
      metricsToken: null,
    },
    ...changes,
  })
  extend?.(app)
  cleanUp(t, () => app.close())
  const get = (url: string, headers: Record<string, string> = {}) =>
    app.inject({ method: 'GET', url, headers })
  /** Sends the API key; a body that is not a string is sent as JSON. */
  const call = (
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    body?: unknown,
    more: Record<string, string> = {},
  ) => {
    const headers: Record<string, string> = { authorization: `Bearer ${operatorKey}`, ...more }
    if (body !== undefined) headers['content-type'] ??= 'application/json'
    const payload = typeof body === 'string' ? body : JSON.stringify(body)
    const url = `/api/v1${path}`
    return app.inject(payload === undefined ? { method, url, headers } : { method, url, headers, payload })
  }
  return { app, world, memory, workers, woken, wakeup, get, call }
}

export const testWorkerId = '0192abcd-ef01-7000-8000-0000000000aa'

/** One of ours, that makes HTTP calls. */
export function testWorker(changes: Partial<Worker> = {}): Worker {
  const plain = { host: 'a', port: null, version: '1', labels: [], handlers: [], capacity: 50 }
  return { workerId: testWorkerId, tenantId: null, executors: ['http'], ...plain, ...changes }
}

/** Claims the executions waiting in the shared lane, runs each for 250 ms and ends it, by default as succeeded. */
export async function runAll(
  { memory, world }: Pick<Awaited<ReturnType<typeof setupApp>>, 'memory' | 'world'>,
  change: Partial<AttemptEnd> = {},
): Promise<void> {
  const { leases, queue } = memory
  await leases.register(testWorker())
  const lanes = [{ lane: sharedLane, count: 1_000 }]
  const order = { workerId: testWorkerId, routes: [serverRoute], lanes, hosts: [], batchesMax: 100 }
  const { batches, live } = await queue.claim(order)
  const startedAt = world.clock.databaseNow()
  await world.advance(250)
  const plain = { outcome: 'succeeded', httpStatus: 200, error: null, preview: 'ok' } as const
  const times = { startedAt, finishedAt: world.clock.databaseNow(), durationMs: 250 }
  const end = { ...plain, ...times, retryAt: null, deadReason: null, ...change }
  const ending = { kind: 'ended', end } satisfies Ending
  const finished = batches.map(({ batchId, fence, positions }) => ({
    batchId,
    fence,
    endings: positions.map((position) => ({ position, ending })),
  }))
  assert.deepEqual((await queue.finishBatches(testWorkerId, finished)).missing, [])
  const ends = live.map(({ executionId, fence, attempt }) => ({ executionId, fence, attempt, ending }))
  assert.deepEqual((await queue.finishLive(testWorkerId, ends)).missing, [])
}
