// User actions on jobs and executions while a run goes on. A job with a change of unknown outcome is left alone until
// all is well: then its state tells the outcome, and nobody has changed it since.
import { realTimers } from '../../src/lib/time/timers.ts'
import type { Dice } from '../fuzz/dice.ts'
import type { ApiAnswer, Caller } from './driver-calls.ts'
import {
  type Draft,
  drawOnce,
  drawRecurring,
  drawSchedule,
  type GraphDraft,
  type WorkloadOptions,
} from './workload.ts'

export interface DeedDeps {
  caller: Caller
  dice: Dice
  workload: WorkloadOptions
  /** The prefix of all job names. */
  prefix: string
}

interface KnownJob {
  jobId: string
  version: number
  status: string
  /** It has slots of its own, and nobody depends on it. */
  isPlain: boolean
  /** Its executions are to end by themselves: others wait to see how they live through a fault. */
  isProbe: boolean
  isRecurring: boolean
  /** Its slots may come at any pace: none waits for another. */
  mayHurry: boolean
  /** free: it may be changed. */
  change: 'free' | 'busy' | 'unsure'
}

/** How often each is done, of all. */
const DEEDS = [
  ['trigger', 46],
  ['once', 16],
  ['now', 6],
  ['twice', 5],
  ['otherBody', 1],
  ['change', 8],
  ['cancel', 6],
  ['redrive', 3],
  ['discard', 1],
  ['retry', 2],
  ['cancelRun', 1],
  ['look', 5],
] as const
type Deed = (typeof DEEDS)[number][0]
const ALL_DEEDS = DEEDS.flatMap(([name, share]) => new Array<Deed>(share).fill(name))
/** Executions that may be cancelled or retried. */
const recentMax = 200
/** A slot boundary is aimed at this closely. */
const boundaryMs = 60
const settleTriesMax = 30

export class Deeds {
  readonly jobs: KnownJob[] = []
  readonly #deps: DeedDeps
  readonly #recent: string[] = []
  #made = 0

  constructor(deps: DeedDeps) {
    this.#deps = deps
  }

  async doOne(): Promise<void> {
    const acts: Record<Deed, () => Promise<unknown>> = {
      trigger: () => this.#trigger(),
      once: () => this.create(this.#drawSoon()),
      now: () => this.create({ ...this.#drawSoon(), schedule: { type: 'IMMEDIATE' } }),
      twice: () => this.#sayTwice(),
      otherBody: () => this.#sayOtherwise(),
      change: () => this.#change(),
      cancel: () => this.#cancel(),
      redrive: () => this.#redrive(),
      discard: () => this.#discard(),
      retry: () => this.#ofExecution('retry'),
      cancelRun: () => this.#cancelRun(),
      look: () => this.#look(),
    }
    await acts[this.#deps.dice.pick(ALL_DEEDS)]()
  }

  async create(draft: Draft, { isPlain = true } = {}): Promise<KnownJob | null> {
    const name = this.#nextName('job')
    const body = { ...draft, name }
    return this.#created(draft, isPlain, await this.#post('create', '/jobs', body, name))
  }

  async createGraph(graph: readonly GraphDraft[]): Promise<void> {
    const ids: string[] = []
    for (const { job, after } of graph) {
      const depends_on = after.map(({ place, on }) => ({ job_id: ids[place]!, on }))
      const draft = depends_on.length === 0 ? job : { ...job, depends_on }
      const made = await this.create(draft, { isPlain: false })
      // Without one of them the rest cannot be made either.
      if (made === null) return
      ids.push(made.jobId)
    }
  }

  /** Learns how unsure changes went, and stops all slots. */
  async settle(): Promise<void> {
    for (const job of this.jobs) {
      if (job.status === 'DELETED' || !job.isRecurring) continue
      if (job.change === 'unsure')
        await this.#insist({ name: 'get', method: 'GET', path: `/jobs/${job.jobId}` })
      const path = `/jobs/${job.jobId}/pause`
      await this.#insist({ name: 'pause', method: 'PATCH', path, body: { reason: 'the end' } })
    }
  }

  async #insist(call: Parameters<Caller['send']>[0]): Promise<void> {
    for (let tries = 0; tries < settleTriesMax; tries++) {
      const { ending } = await this.#deps.caller.send(call)
      if (ending !== 'info') return
    }
  }

  #nextName(what: string): string {
    this.#made += 1
    return `${this.#deps.prefix} ${what} ${this.#made}`
  }

  #post(name: string, path: string, body: object, key: string): Promise<ApiAnswer> {
    return this.#deps.caller.send({ name, method: 'POST', path, body, key: keyOf(key) })
  }

  #created(draft: Draft, isPlain: boolean, { ending, body }: ApiAnswer): KnownJob | null {
    if (ending !== 'ok' || body.job_id === undefined) return null
    const { schedule, execution } = draft
    const isProbe = execution.callback_url?.includes('/long?') === true
    const type = typeof schedule === 'object' ? schedule.type : undefined
    const job: KnownJob = {
      jobId: body.job_id,
      version: body.version ?? 1,
      status: body.status ?? 'ACTIVE',
      isPlain: isPlain && !isProbe,
      isProbe,
      isRecurring: type === 'CRON' || type === 'INTERVAL',
      mayHurry:
        !draft.overlap_policy?.startsWith('BUFFER') && !draft.concurrency_limit && !draft.concurrency_key,
      change: 'free',
    }
    if (job.isRecurring || !isPlain) this.jobs.push(job)
    return job
  }

  #drawSoon(): Draft {
    const { dice, workload } = this.#deps
    return drawOnce(dice, workload, Date.now() + dice.between(500, 4_000))
  }

  #pickJob(): KnownJob | null {
    const known = this.jobs.filter(({ status, isProbe }) => status !== 'DELETED' && !isProbe)
    return known.length === 0 ? null : this.#deps.dice.pick(known)
  }

  #isProbe(jobId: string | undefined): boolean {
    return this.jobs.some((job) => job.isProbe && job.jobId === jobId)
  }

  #keep(executionId: string | undefined): void {
    if (executionId === undefined) return
    this.#recent.push(executionId)
    if (this.#recent.length > recentMax) this.#recent.shift()
  }

  async #trigger(): Promise<void> {
    const job = this.#pickJob()
    if (job === null) return
    const mark = this.#nextName('trigger')
    const body = { payload_override: { mark } }
    const answer = await this.#post('trigger', `/jobs/${job.jobId}/trigger`, body, mark)
    this.#keep(answer.body.execution_id)
  }

  /** The same request again with its key: one effect, one answer. */
  async #sayTwice(): Promise<void> {
    const { caller, dice } = this.#deps
    const job = this.#pickJob()
    if (job === null) return
    const mark = this.#nextName('trigger')
    const body = { payload_override: { mark } }
    const path = `/jobs/${job.jobId}/trigger`
    const call = { name: 'trigger', method: 'POST', path, body, key: keyOf(mark) }
    const first = caller.send(call)
    if (dice.chance(0.5)) await first
    await Promise.all([first, caller.send(call)])
  }

  /** Another request with a key that was used: refused. */
  async #sayOtherwise(): Promise<void> {
    const { caller } = this.#deps
    const job = this.#pickJob()
    if (job === null) return
    const mark = this.#nextName('trigger')
    const path = `/jobs/${job.jobId}/trigger`
    const call = { name: 'trigger', method: 'POST', path, key: keyOf(mark) }
    const first = await caller.send({ ...call, body: { payload_override: { mark } } })
    if (first.ending === 'ok')
      await caller.send({
        ...call,
        name: 'other body',
        body: { payload_override: { mark: `${mark} otherwise` } },
      })
  }

  /** On or next to a whole second, when slots fire. */
  async #change(): Promise<void> {
    const { dice, caller } = this.#deps
    const plain = this.jobs.filter((one) => one.isPlain && one.change === 'free' && one.status !== 'DELETED')
    if (plain.length === 0) return
    const job = dice.pick(plain)
    job.change = 'busy'
    const off = dice.between(-boundaryMs, boundaryMs)
    await realTimers.wait(Math.max(0, 1_000 - (Date.now() % 1_000) + off))
    const path = `/jobs/${job.jobId}`
    const luck = dice.below(100)
    const isPaused = job.status === 'PAUSED'
    const call =
      isPaused && luck < 60
        ? { name: 'resume', method: 'PATCH', path: `${path}/resume` }
        : !isPaused && luck < 30
          ? { name: 'pause', method: 'PATCH', path: `${path}/pause`, body: {} }
          : luck < 94
            ? { name: 'edit', method: 'PATCH', path, version: job.version, body: this.#drawEdit(job) }
            : {
                name: 'delete',
                method: 'DELETE',
                path: dice.chance(0.5) ? path : `${path}?cancel_running=true`,
              }
    const { ending, body } = await caller.sendOnce(call)
    job.change = ending === 'info' ? 'unsure' : 'free'
    if (ending !== 'ok') return
    job.version = body.version ?? job.version
    job.status = body.status ?? job.status
    const replaced = job.status === 'DELETED' || job.status === 'COMPLETED'
    if (replaced) await this.create(drawRecurring(dice, this.#deps.workload, dice.between(1, 5)))
  }

  #drawEdit({ mayHurry }: KnownJob): object {
    const { dice } = this.#deps
    if (mayHurry && dice.chance(0.5))
      return { schedule: drawSchedule(dice, dice.pick([1, 2, 3, 5])), jitter_seconds: 0 }
    return { priority: dice.between(1, 10), metadata: { edit: this.#nextName('edit') } }
  }

  async #cancel(): Promise<void> {
    const { caller, dice } = this.#deps
    const status = dice.pick(['RUNNING', 'PENDING', 'RETRYING', null])
    if (status !== null) {
      const path = `/executions?status=${status}&limit=10`
      const { body } = await caller.send({ name: 'list', method: 'GET', path })
      for (const { execution_id, job_id } of body.executions ?? [])
        if (!this.#isProbe(job_id)) this.#keep(execution_id ?? undefined)
    }
    await this.#ofExecution('cancel')
  }

  async #ofExecution(name: 'cancel' | 'retry'): Promise<void> {
    // The latest executions are the most likely to be under way; earlier ones have ended.
    const few = name === 'cancel' ? this.#recent.slice(-8) : this.#recent.slice(0, 50)
    if (few.length === 0) return
    const executionId = this.#deps.dice.pick(few)
    const answer = await this.#post(name, `/executions/${executionId}/${name}`, {}, this.#nextName(name))
    if (name === 'retry') this.#keep(answer.body.execution_id)
  }

  async #redrive(): Promise<void> {
    const letters = await this.#letters()
    if (letters.length === 0) return
    const body = { execution_ids: letters.slice(0, 10) }
    const { body: done } = await this.#post(
      'redrive',
      '/dead-letters/redrive',
      body,
      this.#nextName('redrive'),
    )
    for (const { new_execution_id } of done.redriven ?? []) this.#keep(new_execution_id)
  }

  async #discard(): Promise<void> {
    const [letter] = await this.#letters()
    if (letter === undefined) return
    await this.#deps.caller.send({ name: 'discard', method: 'DELETE', path: `/dead-letters/${letter}` })
  }

  async #letters(): Promise<string[]> {
    const path = '/dead-letters?limit=20'
    const { body } = await this.#deps.caller.send({ name: 'list', method: 'GET', path })
    return (body.dead_letters ?? []).map(({ execution_id }) => execution_id)
  }

  async #cancelRun(): Promise<void> {
    const path = '/graph-runs?status=RUNNING&limit=5'
    const { body } = await this.#deps.caller.send({ name: 'list', method: 'GET', path })
    const [run] = body.graph_runs ?? []
    if (run === undefined) return
    await this.#post('cancel run', `/graph-runs/${run.graph_run_id}/cancel`, {}, this.#nextName('cancel run'))
  }

  async #look(): Promise<void> {
    const { caller, dice } = this.#deps
    const job = this.#pickJob()
    if (job === null) return
    const path = dice.pick([
      `/jobs/${job.jobId}`,
      `/jobs/${job.jobId}/executions?limit=5`,
      '/jobs?limit=20',
      '/executions?limit=20',
    ])
    await caller.send({ name: 'look', method: 'GET', path })
  }
}

/** Names have spaces; keys have none. */
function keyOf(name: string): string {
  return name.replaceAll(' ', '-')
}
