// One call to the API: a line in the history before it is sent and one after its answer. A call that is not answered in
// time, or is answered by a server that gives up, may have taken effect: it is sent again elsewhere with the same key,
// and never counts as refused.
import { realTimers } from '../../src/lib/time/timers.ts'
import type { Ending, HistoryLine, SentCall } from './history.ts'

export interface CallerOptions {
  apiUrls: readonly string[]
  key: string
  write: (line: HistoryLine) => void
  /** Default 5,000. */
  timeoutMs?: number
}

/** The part of an answer that is kept: enough to judge by. */
export interface ApiAnswer {
  ending: Ending
  status: number | null
  body: Answered
}

export interface Answered {
  job_id?: string
  execution_id?: string
  graph_run_id?: string | null
  status?: string
  version?: number
  updated_at?: string
  created_at?: string
  retry_of?: string
  code?: string
  execution_status?: string
  redriven?: { execution_id: string; new_execution_id: string }[]
  executions?: { execution_id: string | null; job_id: string; status: string }[]
  dead_letters?: { execution_id: string }[]
  graph_runs?: { graph_run_id: string; status: string }[]
  pagination?: { total: number }
}

export type CallGiven = Omit<SentCall, 'api' | 'again'>

/** How often a call is said until it is answered. */
const triesMax = 6
const againAfterMs = 800
/** Fields of an answer that are written to the history; the contents of lists are not. */
const written = new Set(
  'job_id execution_id graph_run_id status version updated_at created_at retry_of code execution_status redriven pagination'.split(
    ' ',
  ),
)

export class Caller {
  readonly #options: CallerOptions
  #ops = 0
  #inFlight = 0
  readonly endings: Record<Ending, number> = { ok: 0, fail: 0, info: 0 }

  constructor(options: CallerOptions) {
    this.#options = options
  }

  get inFlight(): number {
    return this.#inFlight
  }

  /** Sends until it is answered, for calls that may be repeated: reads, and writes with a key. */
  async send(call: CallGiven): Promise<ApiAnswer> {
    const first = this.#ops + 1
    for (let tries = 0; ; tries++) {
      const answer = await this.sendOnce(call, tries === 0 ? {} : { again: first })
      if (answer.ending !== 'info' || tries === triesMax) return answer
      await realTimers.wait(againAfterMs * (tries + 1))
    }
  }

  async sendOnce(call: CallGiven, { again }: { again?: number } = {}): Promise<ApiAnswer> {
    const { apiUrls, write } = this.#options
    const op = ++this.#ops
    const api = apiUrls[op % apiUrls.length]!
    write({
      what: 'sent',
      op,
      at: Date.now(),
      call: { ...call, api, ...(again !== undefined && { again }) },
    })
    this.#inFlight += 1
    const answer = await this.#fetch(api, call)
    this.#inFlight -= 1
    this.endings[answer.ending] += 1
    const kept = Object.fromEntries(Object.entries(answer.body).filter(([name]) => written.has(name)))
    const { ending, status } = answer
    write({ what: 'answered', op, at: Date.now(), ending, status, answer: kept })
    return answer
  }

  async #fetch(api: string, { method, path, body, version, key }: CallGiven): Promise<ApiAnswer> {
    const headers: Record<string, string> = { authorization: `Bearer ${this.#options.key}` }
    if (body !== undefined) headers['content-type'] = 'application/json'
    if (version !== undefined) headers['if-match'] = `"${version}"`
    if (key !== undefined) headers['idempotency-key'] = key
    try {
      const response = await fetch(`${api}/api/v1${path}`, {
        method,
        headers,
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(this.#options.timeoutMs ?? 5_000),
      })
      const text = await response.text()
      const { status } = response
      return { ending: endingOf(status, text), status, body: readBody(text) }
    } catch {
      return { ending: 'info', status: null, body: {} }
    }
  }
}

/** A server that gives up may have done it; one that says the first request is under way has not refused this one. */
function endingOf(status: number, text: string): Ending {
  if (status >= 200 && status < 300) return 'ok'
  if (status >= 500 || status === 408 || text.includes('IDEMPOTENCY_KEY_IN_USE')) return 'info'
  return 'fail'
}

function readBody(text: string): Answered {
  try {
    return JSON.parse(text) as Answered
  } catch {
    return {}
  }
}
