// How attempts ended, on their way to the server: gathered while the report before is under way, kept while the server is
// away, until each is accepted or refused.
import type { ReportReply } from '#contract/worker.ts'
import { backoffMs, type Call, pause } from './call.ts'
import { type CarillonError, isAboutContent } from './carillon-error.ts'
import { Wake } from './wake.ts'
import type { Attempt } from './worker-attempt.ts'

export interface Result {
  attempt: Attempt
  json: string
  /** Without the handler's output, in case the server refuses the result because of it. */
  plainJson: string
  madeMs: number
}

export interface ReportDeps {
  call: Call
  workerId: string
  /** How long results are kept while the server is away. */
  outageMs: number
  onError(error: unknown): 'lost' | 'retry'
  onAnswer(): void
  /** Null: it was accepted. */
  onSettled(attempt: Attempt, refusedBecause: string | null): void
  /** It is not sent any more, and the server still takes the execution for this worker's. */
  onGivenUp(attempt: Attempt, why: string): void
}

const resultsMax = 1_000
/** Limit for the text of a report, under the megabyte that the server takes, should every letter be two bytes. */
const lengthMax = 400_000
const timeoutMs = 15_000

export class Reports {
  readonly #deps: ReportDeps
  readonly #wake = new Wake()
  readonly #stop = new AbortController()
  #queue: Result[] = []
  #underWay = 0
  /** Nothing is gathered for one report after another: one of them is refused as a whole. */
  #aloneLeft = 0

  constructor(deps: ReportDeps) {
    this.#deps = deps
  }

  /** Results that the server has not accepted. */
  get waiting(): number {
    return this.#queue.length + this.#underWay
  }

  add(result: Result): void {
    this.#queue.push(result)
    this.#wake.wake()
  }

  end(): void {
    this.#queue = []
    this.#stop.abort()
    this.#wake.wake()
  }

  async run(): Promise<void> {
    const { signal } = this.#stop
    for (let failures = 0; ; ) {
      if (this.#queue.length === 0) await this.#wake.wait()
      if (signal.aborted) return
      // Attempts that end in the same turn of the event loop are reported together.
      await new Promise((resolve) => setImmediate(resolve))
      if (this.#queue.length === 0) continue
      const hasArrived = await this.#send(this.#take())
      failures = hasArrived ? 0 : failures + 1
      if (failures > 0 && !signal.aborted) await pause(backoffMs(failures), signal).catch(() => {})
    }
  }

  #take(): Result[] {
    const most = this.#aloneLeft > 0 ? 1 : resultsMax
    let length = 0
    let count = 0
    for (const { json } of this.#queue) {
      length += json.length + 1
      if (count === most || (count > 0 && length > lengthMax)) break
      count++
    }
    return this.#queue.splice(0, count)
  }

  async #send(results: Result[]): Promise<boolean> {
    const { call, workerId, onError, onAnswer } = this.#deps
    const json = `{"worker_id":"${workerId}","results":[${results.map((one) => one.json).join(',')}]}`
    this.#underWay = results.length
    try {
      const reply = await call<ReportReply>(
        { method: 'POST', path: '/api/v1/workers/report', json, repeat: 'once' },
        { timeoutMs, signal: this.#stop.signal },
      )
      onAnswer()
      this.#aloneLeft = Math.max(0, this.#aloneLeft - results.length)
      const refused = new Set(reply.refused)
      for (const { attempt } of results) {
        const isRefused = refused.has(attempt.claim.execution_id)
        this.#deps.onSettled(
          attempt,
          isRefused ? 'it timed out, runs elsewhere, or has another result on record' : null,
        )
      }
      return true
    } catch (error) {
      if (this.#stop.signal.aborted) return false
      if (isAboutContent(error)) return this.#part(results, error)
      this.#keep(results)
      if (onError(error) === 'lost') this.end()
      return false
    } finally {
      this.#underWay = 0
    }
  }

  /** One result must not hold up the others: each goes alone, then without the handler's output, then not at all. */
  #part(results: Result[], error: CarillonError): boolean {
    const [first] = results
    if (results.length > 1) {
      this.#queue.unshift(...results)
      this.#aloneLeft = results.length
    } else if (first!.json !== first!.plainJson) {
      this.#queue.unshift({ ...first!, json: first!.plainJson })
    } else {
      this.#aloneLeft = Math.max(0, this.#aloneLeft - 1)
      this.#deps.onGivenUp(first!.attempt, error.message)
    }
    return true
  }

  #keep(results: Result[]): void {
    const oldestMs = performance.now() - this.#deps.outageMs
    const isOld = (one: Result) => one.madeMs < oldestMs
    for (const { attempt } of results.filter(isOld)) {
      this.#deps.onGivenUp(attempt, 'the server was away for too long')
    }
    this.#queue.unshift(...results.filter((one) => !isOld(one)))
  }
}
