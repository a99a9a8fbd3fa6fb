// client.jobs.start: all starts of a job are executions of one job of type IMMEDIATE, which the first of them makes. It
// stands apart from the scheduled job of the same handler, so a start is in no graph run and moves no schedule.
import type { ErrorCode } from '#contract/errors.ts'
import type { CreatedJob, JobRequest } from '#contract/job.ts'
import type { TriggerReply } from '#contract/trigger.ts'
import type { Call, PostOptions } from './call.ts'
import { CarillonError } from './carillon-error.ts'
import type { JobReservation } from './define-job.ts'
import { toJobRequest } from './job-request.ts'

export type Started = CreatedJob & { execution_id: string }

const root = '/api/v1/jobs'
const keyMax = 128
/** Jobs that a client remembers; the oldest is looked up again. */
const knownMax = 1_000

interface KnownJob {
  definition: string
  job: CreatedJob
}

export class JobStarter {
  readonly #call: Call
  readonly #known = new Map<string, KnownJob>()

  constructor(call: Call) {
    this.#call = call
  }

  async start<Input>(
    job: JobReservation<Input>,
    payload: Input,
    options: PostOptions = {},
  ): Promise<Started> {
    const request = toJobRequest({ ...job, schedule: { type: 'IMMEDIATE' }, payload: undefined })
    const key = `start.${job.key}`
    if (key.length > keyMax) return this.#create(withPayload(request, payload), options)
    const definition = JSON.stringify(request)
    const known = this.#known.get(key)
    if (known?.definition === definition) {
      const started = await orNull(
        ['JOB_DELETED', 'JOB_NOT_FOUND'],
        this.#trigger(known.job, payload, options),
      )
      if (started !== null) return started
      this.#known.delete(key)
    }
    // It makes the job and runs it at once; for a key that is taken the server has done nothing.
    const first = { ...withPayload(request, payload), key }
    const created = await orNull(['JOB_KEY_TAKEN'], this.#create(first, options))
    if (created !== null) return created
    const stored = await this.#put(key, request, options)
    this.#remember(key, { definition, job: stored })
    return this.#trigger(stored, payload, options)
  }

  #create(body: JobRequest, options: PostOptions): Promise<Started> {
    return this.#call({ method: 'POST', path: root, body, repeat: 'keyed' }, options)
  }

  /** The definition of the program in use, without a payload: each start has its own. */
  #put(key: string, body: JobRequest, { idempotencyKey: _, ...options }: PostOptions): Promise<CreatedJob> {
    const path = `${root}/by-key/${encodeURIComponent(key)}`
    return this.#call({ method: 'PUT', path, body, repeat: 'same' }, options)
  }

  async #trigger<Input>(job: CreatedJob, payload: Input, options: PostOptions): Promise<Started> {
    const { idempotencyKey, ...rest } = options
    const body = payload === undefined ? {} : { payload_override: payload }
    const { execution_id } = await this.#call<TriggerReply>(
      { method: 'POST', path: `${root}/${job.job_id}/trigger`, body, repeat: 'keyed' },
      // The key of the caller names the request that may have made the job, which is another one.
      idempotencyKey === undefined ? rest : { ...rest, idempotencyKey: `${idempotencyKey}:start` },
    )
    return { ...job, execution_id }
  }

  #remember(key: string, known: KnownJob): void {
    const [oldest] = this.#known.keys()
    if (this.#known.size >= knownMax && oldest !== undefined) this.#known.delete(oldest)
    this.#known.set(key, known)
  }
}

function withPayload(request: JobRequest, payload: unknown): JobRequest {
  if (payload === undefined) return request
  return { ...request, execution: { ...request.execution, payload } as JobRequest['execution'] }
}

/** Null: it was refused for one of these reasons. */
async function orNull<T>(codes: readonly ErrorCode[], answer: Promise<T>): Promise<T | null> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof CarillonError && error.code !== null && codes.includes(error.code)) return null
    throw error
  }
}
