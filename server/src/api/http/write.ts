// Every write is answered through here: idempotency keys, dry runs and wake-ups are in one place, so that no route
// can forget one. The effect and the answer that a repetition gets are written together.
import { hash } from 'node:crypto'
import { expected } from '@carillon/contract/expected.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { RunStatus } from '../../domain/graphs/graph-run.ts'
import type { SettledAttempt } from '../../domain/queue/attempt.ts'
import type { Once, Reply, Requests, RequestTerms, RunOutcome, WriteStores } from '../../ports/requests.ts'
import type { Wakeup, WakeupTopic } from '../../ports/wakeup.ts'
import { emitCancelled, emitSettled } from '../../telemetry/emit-settled.ts'
import { graphRunFinished } from '../../telemetry/events.ts'
import { type Charge, type ChargeDeps, chargeFor } from '../access/execution-charge.ts'
import { RefillNeeded } from '../access/refill-needed.ts'
import type { Tag } from '../docs/openapi.ts'
import { ApiError } from './api-error.ts'
import { refuseField } from './problem.ts'
import { noParameters, type RouteDescription, type RouteScope, route } from './route.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The body before it was rewritten. Undefined: it was not. */
    bodyAsSent?: unknown
  }
}

export interface WriteDeps extends ChargeDeps {
  requests: Pick<Requests, 'run'>
  wakeup: Wakeup
}

export interface WriteAnswer<Body> {
  /** The route has a schema for it. */
  status: 200 | 201 | 202 | 204
  /** `etag` and `location`. */
  headers?: Readonly<Record<string, string>>
  /** Null: none, with status 204. */
  body: Body
  /** Executions that this made, if they are fewer than it was charged for. */
  executions?: number
  /** Sent after the commit. */
  wake?: readonly WakeupTopic[]
  /** Executions that this cancelled before they ran; told after the commit. */
  cancelled?: readonly SettledAttempt[]
  /** Executions that this skipped; told after the commit. */
  settled?: readonly SettledAttempt[]
  /** Runs of graphs that this ended, by how; told after the commit. */
  runsOver?: readonly RunStatus[]
}

interface WriteOptions extends Pick<RequestTerms, 'gather'> {
  /** The executions that the request asks for, which its tenant is charged for. Default: none. */
  executions?: number
}

/**
 * `gather`: the work creates or triggers and nothing else, so it may be committed together with others.
 * `work` may be called again, and its effects may be undone: everything it does goes through the stores it is given.
 */
export async function answerWrite<Body>(
  deps: WriteDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  work: (stores: WriteStores) => Promise<WriteAnswer<Body>>,
  { gather, executions = 0 }: WriteOptions = {},
): Promise<FastifyReply> {
  const dryRun = (request.query as { dry_run?: boolean }).dry_run === true
  const terms = { once: dryRun ? null : readOnce(request), dryRun, ...(gather !== undefined && { gather }) }
  const charge = await chargeFor(deps, request, dryRun ? 0 : executions)
  const charged = async (stores: WriteStores) => {
    if (charge.refusal !== null) throw charge.refusal
    return work(stores)
  }
  const run = () =>
    deps.requests.run<ApiError | Written>(terms, async (stores) => {
      const done = gather === undefined ? await charged(stores) : await refusalOf(charged(stores))
      if (done instanceof ApiError) return { value: done, reply: null }
      const { wake = [], cancelled = [], settled = [], runsOver = [], executions: made, ...answer } = done
      const written = toReply(answer, reply)
      return { value: { wake, cancelled, settled, runsOver, made, written }, reply: written }
    })
  const outcome = await settling(charge, executions, () => withRefills(run))
  if (outcome.kind === 'in_flight') {
    const errors = [{ pointer: keyHeader, detail: 'belongs to a request that is in progress' }]
    const detail = 'The first request with this Idempotency-Key is not answered yet.'
    throw new ApiError('IDEMPOTENCY_KEY_IN_USE', detail, errors, { retryAfterSeconds: 1 })
  }
  if (outcome.kind === 'other_request') {
    const errors = [{ pointer: keyHeader, detail: 'was already sent with a different request' }]
    throw new ApiError('IDEMPOTENCY_KEY_REUSED', 'The Idempotency-Key belongs to another request.', errors)
  }
  if (outcome.kind === 'repeated') return send(reply.header('idempotency-replayed', 'true'), outcome.reply)
  if (outcome.value instanceof ApiError) throw outcome.value
  const { wake, cancelled, settled, runsOver, written } = outcome.value
  if (dryRun) return send(reply.header('x-dry-run', 'true'), asIfDone(written))
  for (const topic of wake) deps.wakeup.send(topic)
  emitCancelled(cancelled)
  emitSettled(settled)
  for (const status of runsOver) graphRunFinished.emit({ status })
  return send(reply, written)
}

/** One of storage, one of waiting executions. */
const refillsMax = 2

/** A run that lacked a part of a limit has written nothing; it is repeated after the refill. */
async function withRefills(
  run: () => Promise<RunOutcome<ApiError | Written>>,
): Promise<RunOutcome<ApiError | Written>> {
  for (let left = refillsMax; left > 0; left--) {
    try {
      const outcome = await run()
      if (outcome.kind !== 'done' || !(outcome.value instanceof RefillNeeded)) return outcome
      await outcome.value.refill()
    } catch (error) {
      if (!(error instanceof RefillNeeded)) throw error
      await error.refill()
    }
  }
  return run()
}

interface Written {
  made: number | undefined
  wake: readonly WakeupTopic[]
  cancelled: readonly SettledAttempt[]
  settled: readonly SettledAttempt[]
  runsOver: readonly RunStatus[]
  written: Reply
}

/** Of an error that is no refusal nobody knows whether the work was done: then the charge stands. */
async function settling(
  charge: Charge,
  executions: number,
  run: () => Promise<RunOutcome<ApiError | Written>>,
): Promise<RunOutcome<ApiError | Written>> {
  try {
    const outcome = await run()
    const done = outcome.kind === 'done' && !(outcome.value instanceof ApiError) ? outcome.value : null
    await charge.settle(done === null ? 0 : (done.made ?? executions))
    return outcome
  } catch (error) {
    if (error instanceof ApiError) await charge.settle(0)
    throw error
  }
}

/** Gathered work that is refused has written nothing. If it threw, it would undo the other work it is gathered with. */
async function refusalOf<T>(work: Promise<T>): Promise<T | ApiError> {
  try {
    return await work
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
}

function toReply(
  {
    status,
    headers = {},
    body,
  }: Omit<WriteAnswer<unknown>, 'executions' | 'wake' | 'cancelled' | 'settled' | 'runsOver'>,
  reply: FastifyReply,
): Reply {
  if (status === 204) return { status, headers, body: '' }
  const text = reply.serializeInput(body as Record<string, unknown>, String(status)) as string
  return { status, headers, body: text }
}

/** Nothing was created, so nothing is where a Location would lead. */
function asIfDone({ headers, body }: Reply): Reply {
  const { location: _location, ...rest } = headers
  return { status: 200, headers: rest, body: body === '' ? '{}' : body }
}

function send(reply: FastifyReply, { status, headers, body }: Reply): FastifyReply {
  reply.code(status).headers(headers)
  return body === '' ? reply.send() : reply.type('application/json; charset=utf-8').send(body)
}

const keyHeader = 'Idempotency-Key'
/** An alias of the header, from the original specification. */
const keyAlias = 'X-Idempotency-Key'

/** The form of the key is the schema's to check. Only POST makes something anew when it is repeated. */
function readOnce(request: FastifyRequest): Once | null {
  if (request.method !== 'POST') return null
  const { headers, tenantId } = request
  const given = headers[keyHeader.toLowerCase()]
  const alias = headers[keyAlias.toLowerCase()]
  if (given !== undefined && alias !== undefined && given !== alias) {
    throw refuseField(keyAlias, `is another key than that of ${keyHeader}`)
  }
  const key = given ?? alias
  return key === undefined ? null : { tenantId, key: String(key), fingerprint: fingerprintOf(request) }
}

/** The body as it was read: other spaces are no other request, another spelling of a job is. */
function fingerprintOf({ method, url, body: read, bodyAsSent: body = read }: FastifyRequest): Uint8Array {
  return hash('sha256', `${method} ${url}\n${JSON.stringify(body) ?? ''}`, 'buffer')
}

const key = {
  type: 'string',
  pattern: '^[!-~]{1,255}$',
  ...expected('1 to 255 printable ASCII characters without spaces, such as order-4711'),
} as const

/** The headers of a POST. */
const writeHeaders = {
  type: 'object',
  properties: {
    [keyHeader]: {
      ...key,
      description:
        'Your own key, fresh for each new request, kept for a day: the same request with the same key takes effect once, and its response is repeated.',
    },
    [keyAlias]: { ...key, description: `Another name for ${keyHeader}.` },
  },
}

const dryRun = {
  type: 'boolean',
  description: 'true: nothing is done; the response is as it would have been, with status 200.',
} as const

interface WriteDescription<Options extends object> extends Omit<RouteDescription<Options>, 'querystring'> {
  /** Query parameters of its own, besides `dry_run`. */
  query?: Readonly<Record<string, object>>
  /** The body of a 201. */
  created?: object
  /** The body of a 202. */
  accepted?: object
  /** It answers 204, which means this. */
  gone?: string
}

/** A route that is answered by `answerWrite`. */
export function writeRoute<Options extends object>(
  tag: Tag,
  scope: RouteScope,
  summary: string,
  given: WriteDescription<Options>,
) {
  const { query = {}, created, accepted, gone, ...described } = given
  const properties = { ...query, dry_run: dryRun }
  return route<Options>(tag, scope, summary, {
    querystring: { type: 'object', properties, additionalProperties: false },
    ...(created !== undefined && { response: { 200: inDryRun(created), 201: created } }),
    ...(accepted !== undefined && { response: { 200: inDryRun(accepted), 202: accepted } }),
    ...(gone !== undefined && {
      response: { 200: inDryRun(noParameters), 204: { type: 'null', description: gone } },
    }),
    ...described,
  })
}

/** The same for a POST, which may carry an idempotency key. */
export function postRoute<Options extends object>(
  tag: Tag,
  scope: RouteScope,
  summary: string,
  described: WriteDescription<Options>,
) {
  return writeRoute(tag, scope, summary, { headers: writeHeaders, ...described })
}

/** The 200 of a write that otherwise answers with another status. */
function inDryRun(schema: object) {
  return { ...schema, description: 'With `dry_run`: the response as it would have been; nothing was done.' }
}
