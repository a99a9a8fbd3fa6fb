// Sends requests from a seed to a running API, a few at a time on kept connections, and has every answer checked.
import { Pool } from 'undici'
import { Checker, type FuzzAnswer, isEchoed } from './check.ts'
import { toCurl } from './curl.ts'
import { Dice } from './dice.ts'
import { type OpenApiDocument, type Operation, operationsOf } from './document.ts'
import { type Hints, hintsFor } from './hints.ts'
import { Known } from './known.ts'
import { type FuzzRequest, makeRequest, makeStray } from './requests.ts'

export interface FuzzOptions {
  /** Such as http://127.0.0.1:7420. */
  origin: string
  /** Of the operator. */
  key: string
  seed: number
  requests: number
  /** Maximum duration; after it the fuzz ends with the results so far. */
  msMax: number
  /** The token of the first attempt of an execution. Default one that fits none. */
  tokenOf?: (executionId: string) => string
  /** Executions with a first attempt that takes long; each is the subject of one report. Default none. */
  underWay?: readonly string[]
  /** Why a request failed inside, when somebody knows. */
  causeOf?: (method: string, path: string) => string | undefined
}

export interface OperationTally {
  sent: number
  /** Answered with 2xx. */
  taken: number
  slowestMs: number
  /** Codes with which valid requests were refused, counted: these keep the fuzz from getting further. */
  refusals: Record<string, number>
}

export interface Fault {
  what: string
  curl: string
  answer: string
  spoiled: readonly string[]
}

export interface FuzzReport {
  seed: number
  sent: number
  taken: number
  /** 503 with Retry-After: allowed, and expected never. */
  unavailable: number
  tookMs: number
  operations: Map<string, OperationTally>
  /** One of each kind. */
  faults: Fault[]
  /** Of all kinds together. */
  faultCount: number
}

const concurrency = 16
const answerMsMax = 20_000
const strayShare = 0.015
const repeatShare = 0.01
const repeatableMax = 50
const saidBytesMax = 1_500

export async function runFuzz(options: FuzzOptions): Promise<FuzzReport> {
  await using pool = disposable(
    new Pool(options.origin, {
      connections: concurrency,
      headersTimeout: answerMsMax,
      bodyTimeout: answerMsMax,
    }),
  )
  const { body } = await pool.request({ method: 'GET', path: '/openapi.json' })
  const document = (await body.json()) as OpenApiDocument
  return await new Run(pool, document, options).run()
}

class Run {
  readonly #pool: Pool
  readonly #options: FuzzOptions
  readonly #document: OpenApiDocument
  readonly #checker: Checker
  readonly #operations: Operation[]
  readonly #known: Known
  readonly #hints: Hints
  readonly #report: FuzzReport
  readonly #kinds = new Set<string>()
  readonly #repeatable: FuzzRequest[] = []
  #next = 0
  #round: Operation[] = []

  constructor(pool: Pool, document: OpenApiDocument, options: FuzzOptions) {
    this.#pool = pool
    this.#document = document
    this.#options = options
    this.#known = new Known(options.underWay)
    this.#hints = hintsFor(options.origin)
    this.#checker = new Checker(document)
    this.#operations = operationsOf(document)
    const tallies = this.#operations.map(({ name }): [string, OperationTally] => [
      name,
      { sent: 0, taken: 0, slowestMs: 0, refusals: {} },
    ])
    this.#report = {
      seed: options.seed,
      sent: 0,
      taken: 0,
      unavailable: 0,
      tookMs: 0,
      operations: new Map(tallies),
      faults: [],
      faultCount: 0,
    }
  }

  async run(): Promise<FuzzReport> {
    const startedMs = performance.now()
    const senders = Array.from({ length: concurrency }, () => this.#sendMany(startedMs + this.#options.msMax))
    await Promise.all(senders)
    this.#report.tookMs = performance.now() - startedMs
    return this.#report
  }

  async #sendMany(untilMs: number): Promise<void> {
    while (this.#next < this.#options.requests && performance.now() < untilMs) {
      const at = this.#next++
      // Each request has its own random draws, so that the responses to other requests do not shift its choices.
      const dice = new Dice(Math.imul(this.#options.seed, 0x9e3779b1) + at)
      await this.#sendOne(dice)
    }
  }

  async #sendOne(dice: Dice): Promise<void> {
    const { origin, key, tokenOf = () => 'none' } = this.#options
    const known = { document: this.#document, known: this.#known, hints: this.#hints }
    const deps = { ...known, dice, origin, key, tokenOf }
    const isStray = dice.chance(strayShare)
    const request =
      this.#repeated(dice) ??
      (isStray ? makeStray(deps, this.#operations) : makeRequest(deps, this.#nextOperation(dice)))
    const sentMs = performance.now()
    const answer = await this.#exchange(request)
    const tookMs = performance.now() - sentMs
    this.#report.sent += 1
    const tally = this.#report.operations.get(request.operation?.name ?? '')
    if (tally !== undefined) {
      tally.sent += 1
      tally.slowestMs = Math.max(tally.slowestMs, tookMs)
    }
    if (answer instanceof Error) {
      this.#blame(request, `no answer: ${answer.message}`, '')
      return
    }
    for (const what of this.#checker.check(request, answer)) this.#blame(request, what, show(answer))
    if (answer.status === 503 && !isEchoed(request, answer)) {
      this.#report.unavailable += 1
      this.#blame(request, 'unavailable, though the database was there', show(answer))
    }
    if (answer.status < 200 || answer.status > 299) {
      if (tally !== undefined && request.spoiled.length === 0) countRefusal(tally, answer)
      return
    }
    this.#report.taken += 1
    if (tally !== undefined) tally.taken += 1
    if (request.headers['idempotency-key'] !== undefined) {
      this.#repeatable.push(request)
      if (this.#repeatable.length > repeatableMax) this.#repeatable.shift()
    }
    if (request.operation !== null) this.#learn(request.operation, request, answer)
  }

  /** As a client does that did not hear the answer: the same request again, under the same key. */
  #repeated(dice: Dice): FuzzRequest | null {
    if (this.#repeatable.length === 0 || !dice.chance(repeatShare)) return null
    return { ...dice.pick(this.#repeatable), spoiled: ['repeated'] }
  }

  /** Every operation in turn, in a new order each round; operations that create things come twice. */
  #nextOperation(dice: Dice): Operation {
    if (this.#round.length === 0) {
      const creating = this.#operations.filter(({ responses }) => '201' in responses)
      this.#round = dice.shuffle([...this.#operations, ...creating])
    }
    return this.#round.pop()!
  }

  async #exchange({ method, path, headers, body }: FuzzRequest): Promise<FuzzAnswer | Error> {
    try {
      const answer = await this.#pool.request({ method: method as 'GET', path, headers, body })
      const { statusCode: status, headers: answered } = answer
      // A stream has no end; that it began is all that is looked at here.
      if (/^text\/event-stream/.test(String(answered['content-type']))) {
        answer.body.destroy()
        answer.body.on('error', () => {})
        return { status, headers: answered, body: Buffer.alloc(0) }
      }
      return { status, headers: answered, body: Buffer.from(await answer.body.arrayBuffer()) }
    } catch (error) {
      return error as Error
    }
  }

  #learn(operation: Operation, request: FuzzRequest, { headers, body }: FuzzAnswer): void {
    if (!/json/.test(String(headers['content-type'])) || operation.path === '/echo') return
    const value: unknown = JSON.parse(body.toString())
    const etag = headers['etag'] === undefined ? undefined : String(headers['etag'])
    this.#known.learn(operation, request, { value, etag })
  }

  #blame(request: FuzzRequest, what: string, answer: string): void {
    this.#report.faultCount += 1
    const kind = `${request.operation?.name}: ${what.replace(/\d+|"[^"]*"/g, '…')}`
    if (this.#kinds.has(kind)) return
    this.#kinds.add(kind)
    const { name = 'a request beside the document' } = request.operation ?? {}
    const curl = toCurl(this.#options.origin, request)
    const cause = this.#options.causeOf?.(request.method, request.path)
    this.#report.faults.push({
      what: `${name}: ${what}`,
      curl,
      answer: cause === undefined ? answer : `${answer}\n${cause}`,
      spoiled: request.spoiled,
    })
  }
}

function countRefusal({ refusals }: OperationTally, { status, body }: FuzzAnswer): void {
  const code = /"code":"(\w+)"/.exec(body.toString())?.[1] ?? String(status)
  refusals[code] = (refusals[code] ?? 0) + 1
}

function show({ status, headers, body }: FuzzAnswer): string {
  const type = headers['content-type'] ?? 'no content type'
  return `${status} ${type} ${body.toString().slice(0, saidBytesMax)}`
}

function disposable(pool: Pool): Pool & AsyncDisposable {
  return Object.assign(pool, { [Symbol.asyncDispose]: () => pool.destroy() })
}
