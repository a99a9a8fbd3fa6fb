// From evidence to a picture: executions with their attempts and calls, jobs with the changes made to them and the
// slots they should have. Nothing is judged here, except that every change is known.
import type { AttemptRow, Evidence, JobRow, VersionRow } from './check-evidence.ts'
import type { FaultLine, HistoryLine, SaidLine, SeenCall, SentCall } from './history.ts'
import { slotsOf } from './oracle.ts'

export interface Picture {
  evidence: Evidence
  say: (invariant: string, what: string) => void
  jobs: readonly CheckedJob[]
  /** By its id. */
  jobOf: (jobId: string) => CheckedJob | undefined
  /** Executions that have a recorded attempt, by id. */
  executions: ReadonlyMap<string, Recorded>
  operations: readonly Operation[]
  calls: readonly Call[]
  /** Whether something was wrong between two instants, or shortly before; for workers, if these are named. */
  wasFaulty: (from: number, to: number, who?: 'workers') => boolean
  /** For how much of a time something was wrong, in milliseconds. */
  faultyMs: (from: number, to: number) => number
}

/** One call that the receiver saw. */
export interface Call extends SeenCall {
  at: number
  /** 'none': it was not answered, or the connection was cut. */
  answer: number | 'none'
  answeredAt: number
  /** When the caller hung up before the answer; infinite: it did not. */
  goneAt: number
  said: readonly SaidLine[]
}

export interface Recorded {
  executionId: string
  jobId: string
  /** The first record, which tells how the execution was fired. */
  first: AttemptRow
  last: AttemptRow
  /** Attempts that really ran: not the record of a cancel or a skip between attempts. */
  attempts: readonly AttemptRow[]
  rows: readonly AttemptRow[]
  calls: readonly Call[]
}

/** One thing that the driver did: the same request however often it was said. */
export interface Operation {
  call: SentCall
  sentAt: number
  answers: readonly OperationAnswer[]
  /** ok: one of its answers was; fail: it was refused and never unknown; info: anything may be. */
  ending: 'ok' | 'fail' | 'info'
}

export interface OperationAnswer {
  at: number
  ending: 'ok' | 'fail' | 'info'
  status: number | null
  body: Readonly<Record<string, unknown>>
}

export interface CheckedJob {
  job: JobRow
  versions: ReadonlyMap<number, VersionRow>
  /** The states of the job with their start times, in order; the first is its creation. */
  states: readonly JobState[]
  reigns: readonly Reign[]
  /** Every slot it should have a record of, in order. */
  expected: readonly number[]
  executions: readonly Recorded[]
}

export interface JobState {
  at: number
  version: number
  status: string
}

/** The time in which one schedule was in force: it has the slots after `from` up to `to`. */
export interface Reign {
  from: number
  to: number
  version: VersionRow
}

/** How long the effects of a fault may last: leases expire, windows are reloaded, kept results are written. */
const aftermathMs = 30_000
/** After everything was down, how long it is until slots fire again. */
const outageTailMs = 15_000
/** A job that is active when the tables are read has its slots recorded up to this long before. */
const openMs = 30_000

export function draw(evidence: Evidence, say: Picture['say']): Picture {
  const calls = collectCalls(evidence)
  const operations = collectOperations(evidence.history)
  const executions = collectExecutions(evidence.attempts, calls)
  const states = collectStates(operations)
  const versions = Map.groupBy(evidence.versions, ({ jobId }) => jobId)
  const byJob = Map.groupBy(executions.values(), ({ jobId }) => jobId)
  const jobs = evidence.jobs.map((job): CheckedJob => {
    const own = new Map((versions.get(job.jobId) ?? []).map((one) => [one.version, one]))
    const known = statesOf(job, states.get(job.jobId) ?? [], say)
    const reigns = reignsOf(evidence, job, own, known)
    const expected = reigns.flatMap(({ version, from, to }) =>
      slotsOf(version.schedule, { after: from, upTo: to, anchorAt: version.anchorAt }),
    )
    return { job, versions: own, states: known, reigns, expected, executions: byJob.get(job.jobId) ?? [] }
  })
  const byId = new Map(jobs.map((checked) => [checked.job.jobId, checked]))
  const jobOf = (jobId: string) => byId.get(jobId)
  const wasFaulty = faultIndex(evidence.faults)
  return {
    evidence,
    say,
    jobs,
    jobOf,
    executions,
    operations,
    calls,
    wasFaulty,
    faultyMs: (from, to) => faultyMs(evidence.faults, from, to),
  }
}

function collectCalls({ receiver }: Evidence): Call[] {
  const answers = new Map<number, Pick<Call, 'answer' | 'answeredAt'>>()
  const none = { answer: 'none', answeredAt: Number.POSITIVE_INFINITY } as const
  const said = new Map<number, SaidLine[]>()
  const gone = new Map<number, number>()
  for (const line of receiver) {
    if (line.what === 'gone') gone.set(line.seq, line.at)
    if (line.what === 'answered')
      answers.set(line.seq, { answer: line.status ?? 'none', answeredAt: line.at })
    if (line.what === 'said') said.set(line.seq, [...(said.get(line.seq) ?? []), line])
  }
  return receiver.flatMap((line) =>
    line.what === 'arrived'
      ? [
          {
            ...line.call,
            at: line.at,
            ...(answers.get(line.seq) ?? none),
            goneAt: gone.get(line.seq) ?? Number.POSITIVE_INFINITY,
            said: said.get(line.seq) ?? [],
          },
        ]
      : [],
  )
}

function collectOperations(history: readonly HistoryLine[]): Operation[] {
  const answers = new Map<number, OperationAnswer>()
  for (const line of history)
    if (line.what === 'answered') {
      const { at, ending, status } = line
      answers.set(line.op, { at, ending, status, body: (line.answer ?? {}) as OperationAnswer['body'] })
    }
  const sent = history.filter((line) => line.what === 'sent')
  // Calls with the same key are one operation however often they are sent; every other call is its own unless it says
  // that it repeats another.
  const bodyOf = ({ call }: (typeof sent)[number]) => `${call.key} ${JSON.stringify(call.body)}`
  const groups = Map.groupBy(sent, (line) =>
    line.call.key === undefined ? `op ${line.call.again ?? line.op}` : bodyOf(line),
  )
  return [...groups.values()].map((lines): Operation => {
    // Of a driver that ended before the answer nothing is known either.
    const unknown: OperationAnswer = { at: Number.POSITIVE_INFINITY, ending: 'info', status: null, body: {} }
    const all = lines.map(({ op }) => answers.get(op) ?? unknown)
    const has = (ending: string) => all.some((one) => one.ending === ending)
    const ending = has('ok') ? 'ok' : has('info') ? 'info' : 'fail'
    return { call: lines[0]!.call, sentAt: lines[0]!.at, answers: all, ending }
  })
}

function collectExecutions(attempts: readonly AttemptRow[], calls: readonly Call[]): Map<string, Recorded> {
  const byExecution = Map.groupBy(calls, ({ executionId }) => executionId)
  const groups = Map.groupBy(attempts, ({ executionId }) => executionId)
  return new Map(
    [...groups].map(([executionId, rows]) => {
      const [first, last] = [rows[0]!, rows.at(-1)!]
      const isBare = (last.outcome === 'cancelled' || last.outcome === 'skipped') && last.workerId === null
      const ran = isBare ? rows.slice(0, -1) : rows
      const own = byExecution.get(executionId) ?? []
      return [executionId, { executionId, jobId: first.jobId, first, last, attempts: ran, rows, calls: own }]
    }),
  )
}

/** Collects every answer that tells the state of a job when it was last changed. */
function collectStates(operations: readonly Operation[]): Map<string, JobState[]> {
  const states = new Map<string, JobState[]>()
  for (const { answers } of operations)
    for (const { ending, body } of answers) {
      const { job_id: jobId, version, status, updated_at: updatedAt } = body
      if (ending !== 'ok' || typeof jobId !== 'string' || typeof updatedAt !== 'string') continue
      const state = { at: Date.parse(updatedAt), version: Number(version), status: String(status) }
      const list = states.get(jobId)
      if (list === undefined) states.set(jobId, [state])
      else list.push(state)
    }
  return states
}

function statesOf(job: JobRow, told: readonly JobState[], say: Picture['say']): JobState[] {
  const { jobId, createdAt, updatedAt, version, status } = job
  const states: JobState[] = [{ at: createdAt, version: 1, status: 'ACTIVE' }]
  const all = [...told, { at: updatedAt, version, status }].toSorted((a, b) => a.at - b.at)
  for (const state of all) {
    const before = states.at(-1)!
    // Its end is no change that anybody made.
    const isSame = state.status === before.status || state.status === 'COMPLETED'
    if (state.version === before.version && isSame) continue
    if (state.version < before.version || state.version > before.version + 1)
      say(
        'I22',
        `job ${jobId} is at version ${state.version} after ${before.version}: nobody made that change`,
      )
    states.push(state.status === 'COMPLETED' ? { ...state, status: before.status } : state)
  }
  return states
}

function reignsOf(
  { readAt }: Evidence,
  job: JobRow,
  versions: ReadonlyMap<number, VersionRow>,
  states: readonly JobState[],
): Reign[] {
  const first = versions.get(1)!
  if ((first.dependsOn?.length ?? 0) > 0 || first.schedule.type === 'IMMEDIATE') return []
  const last = states.at(-1)!
  const textOf = ({ schedule, anchorAt }: VersionRow) => JSON.stringify([schedule, anchorAt])
  const isOnce = first.schedule.type === 'ONE_TIME'
  // A job that runs once may be created after its slot, and is not looked at again.
  const reigns: Reign[] = [
    { from: isOnce ? -1 : job.createdAt, to: Number.POSITIVE_INFINITY, version: first },
  ]
  /** Up to when slots are recorded though the job is paused. */
  let settledTo = 0
  for (const [index, { at, version, status }] of states.entries()) {
    const current = reigns.at(-1)!
    const next = versions.get(version) ?? current.version
    const isNew = textOf(next) !== textOf(current.version)
    if (isNew) {
      current.to = at
      reigns.push({ from: at, to: Number.POSITIVE_INFINITY, version: next })
    }
    if (isNew || (status === 'PAUSED' && states[index - 1]?.status !== 'PAUSED')) settledTo = at
  }
  const open = reigns.at(-1)!
  if (last.status === 'DELETED') open.to = last.at
  else if (last.status === 'PAUSED') open.to = Math.max(open.from, settledTo)
  else open.to = job.status === 'ACTIVE' ? readAt - openMs : readAt
  return reigns
}

function faultIndex(faults: readonly FaultLine[]): Picture['wasFaulty'] {
  const spans = faults.flatMap((fault) =>
    disturbances(fault).map(({ from, to }) => ({
      from,
      to: to + aftermathMs,
      // A fault of a scheduler or an API does not affect executions in flight on workers.
      isOfWorkers: !/^(api|scheduler)/.test(fault.target),
    })),
  )
  return (from, to, who) =>
    spans.some((span) => span.from <= to && span.to >= from && (who === undefined || span.isOfWorkers))
}

function faultyMs(faults: readonly FaultLine[], from: number, to: number): number {
  let upTo = from
  let sum = 0
  for (const span of faults.flatMap(disturbances).toSorted((a, b) => a.from - b.from)) {
    const [start, end] = [Math.max(upTo, span.from), Math.min(to, span.to + outageTailMs)]
    if (end <= start) continue
    sum += end - start
    upTo = end
  }
  return sum
}

/**
 * When a fault is felt. A herd and an old transaction are to be felt by nobody; a server with a wrong clock or of another
 * version is stopped and started at both ends of its time, and in between it is to be as good as any.
 */
export function disturbances({ kind, at, until }: FaultLine): { from: number; to: number }[] {
  const end = until ?? at
  if (kind === 'herd' || kind === 'old-transaction') return []
  if (kind !== 'clock' && kind !== 'old-version') return [{ from: at, to: end }]
  return [at, end].map((edge) => ({ from: edge, to: edge }))
}
