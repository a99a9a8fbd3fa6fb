// Why does it not run right now? From facts to one sentence for a person on call at 03:00. Pure: the route gathers the
// facts. The fate of a single slot is in why-slot.ts.
import type { WhyReason, WhyStatus } from '@carillon/contract/slot.ts'
import { type EpochMs, epochMs } from '../../lib/time/epoch.ts'
import type { UnderWay, UnendedExecution } from '../../ports/executions.ts'
import type { JobView } from '../jobs/job.ts'
import { isRateKey } from '../queue/call-rates.ts'
import { hostOfKey } from '../queue/host-gate.ts'
import { suspectHost } from '../queue/route.ts'
import { isAfterCompletion } from '../schedule/after-completion.ts'
import { quotaHost } from '../tenants/execution-budget.ts'
import { dependentText, type GraphFacts, type OpenRun, openText } from './why-graph.ts'
import { atText, byText, fateText, nameOf, pauseText, shorten } from './why-text.ts'
import { nobodyText } from './why-worker.ts'

export interface Answer {
  text: string
  status: WhyStatus
  reason: WhyReason | null
  slot: EpochMs | null
  executionId: string | null
}

export interface NowFacts {
  job: JobView
  now: EpochMs
  underWay: UnderWay
  /** Workers that are alive and may take executions of the job. */
  workers: {
    count: number
    hasRoom: boolean
    /** Executions of the tenant that they run, if they leave it no place while other tenants have jobs; null: they do. */
    shareHeld: number | null
    /** If its tenant runs as many executions as its tier lets run at once; null: it may run more. */
    limit: { running: number; max: number } | null
  }
  /** The latest slot up to now, and its fate. */
  last: { slot: EpochMs; status: WhyStatus; reason: WhyReason | null; executionId: string | null } | null
  /** The first slot to come, with when it fires; `exclusion` names the entry that excludes it. */
  next: { slot: EpochMs; dueAt: EpochMs; exclusion: string | null } | null
  /** When it runs next, as far as is known. */
  nextRunAt: EpochMs | null
  /** Null: it depends on nothing. */
  graph: GraphFacts | null
  /** Of the execution that the answer is about, if it waits for others of its run; null: it does not. */
  run: OpenRun | null
  /** For a root: a graph run under way, if the execution in question waits for its end. */
  runAhead: string | null
}

export function whyNow(facts: NowFacts): Answer {
  const { job, underWay } = facts
  if (job.status === 'DELETED')
    return ofJob(job, `The job was deleted ${byText(job.updatedBy, job.updatedAt)}.`)
  const first = firstOf(underWay)
  if (first !== undefined) return withPause(job, withAwait(job, whyUnended(facts, first)))
  if (underWay.owed !== null) return withPause(job, whyOwed(underWay.owed))
  if (job.status === 'COMPLETED') return ofJob(job, `The job is completed: ${whyCompleted(facts)}.`)
  if (job.status === 'PAUSED') {
    const what = facts.graph === null ? 'no slot fires' : 'it is skipped in every graph run'
    const text = `The job ${pauseText(job)}; ${what} until it is resumed, but it can be triggered.`
    return { ...ofJob(job, text), reason: 'paused' }
  }
  return facts.graph === null ? whyNotDue(facts) : whyDependent(facts.graph)
}

/** The execution to report of several that have not ended: people ask about the waiting one. */
export function firstOf({ executions }: UnderWay): UnendedExecution | undefined {
  return executions.find(({ state }) => state === 'waiting') ?? executions[0]
}

function whyDependent(graph: GraphFacts): Answer {
  const { executionId = null, slot = null } = graph.last ?? {}
  const text = dependentText(graph)
  return { text, status: 'WAITING_DEPENDENCIES', reason: 'dependency', slot, executionId }
}

/** About an execution that has not ended. */
export function whyUnended(facts: NowFacts, one: UnendedExecution): Answer {
  const answer = (text: string, reason: WhyReason | null) => answerFor(one, text, reason)
  const how = one.status === 'CANCELLING' ? 'It is being cancelled' : 'It is running'
  if (one.state === 'running') {
    return answer(`${how}: ${nameOf(one)} runs${sinceText(one)}${attemptText(facts, one.attempt)}.`, null)
  }
  if (one.state === 'awaiting') {
    const until = untilText(facts, one)
    return answer(`${how}: the target of ${nameOf(one)} answered 202${until} to say how it ended.`, null)
  }
  if (one.state === 'retrying') {
    const next = attemptText(facts, one.attempt + 1)
    return answer(
      `It is retried: ${nameOf(one)} failed and starts again at ${atText(one.retryAt!)}${next}.`,
      null,
    )
  }
  if (one.state === 'blocked') {
    const open = facts.run === null ? 'waits for others of its graph run' : openText(facts.run)
    return answer(`It waits: ${nameOf(one)} ${open}.`, 'dependency')
  }
  if (one.state === 'waiting') return whyWaiting(facts, one)
  const since = `has been ready since ${atText(one.enqueuedAt)}`
  const { count, hasRoom, shareHeld, limit } = facts.workers
  if (count === 0) {
    return answer(`It waits: ${nameOf(one)} ${since}, but ${nobodyText(facts.job.execution)}.`, 'no_worker')
  }
  if (one.host === suspectHost) {
    const alone = 'it was lost with its worker before, so it waits for a worker that runs no other suspect'
    return answer(`It waits: ${nameOf(one)} ${since}, but ${alone}.`, 'suspect')
  }
  if (one.host === quotaHost) {
    const quota = 'its tenant has used up its executions a minute; it starts when there is budget'
    return answer(`It waits: ${nameOf(one)} ${since}, but ${quota} (executions_per_minute).`, 'quota')
  }
  if (one.host !== null && isRateKey(one.host)) {
    const often = `its tenant calls ${shorten(hostOfKey(one.host))} as often in a second as its tier allows`
    return answer(`It waits: ${nameOf(one)} ${since}, but ${often} (host_calls_per_second).`, 'target_rate')
  }
  if (one.host !== null) {
    const busy = `its target ${shorten(hostOfKey(one.host))} has the maximum number of concurrent calls`
    return answer(`It waits: ${nameOf(one)} ${since}, but ${busy}.`, 'target_busy')
  }
  if (limit !== null) {
    const all = `its tenant runs ${limit.running} executions, and its tier lets ${limit.max} run at once`
    return answer(
      `It waits: ${nameOf(one)} ${since}, but ${all} (concurrent_executions_max).`,
      'concurrent_executions',
    )
  }
  if (!hasRoom) {
    const full = count === 1 ? 'the one worker is' : `all ${count} workers are`
    return answer(`It waits: ${nameOf(one)} ${since}, but ${full} at capacity.`, 'capacity')
  }
  if (shareHeld !== null) {
    const share = `its tenant has ${shareHeld} under way, its share of the workers while other tenants have jobs`
    return answer(`It waits: ${nameOf(one)} ${since}, but ${share}.`, 'tenant_share')
  }
  return answer(`It waits: ${nameOf(one)} ${since} and is in the queue of the workers.`, 'queued')
}

function whyWaiting({ job, underWay, runAhead }: NowFacts, one: UnendedExecution): Answer {
  const { concurrencyKey: key } = one
  const answer = (text: string, reason: WhyReason) =>
    answerFor(one, `It waits: ${nameOf(one)} ${text}.`, reason)
  const { overlapPolicy, concurrencyLimit } = job
  const ahead = underWay.executions.find(({ state }) => state !== 'waiting' && state !== 'blocked')
  if (overlapPolicy !== 'ALLOW' && ahead !== undefined) {
    const who = `the execution ${ahead.executionId}, which is ${ahead.status}${sinceText(ahead)}`
    return answer(`waits for the end of ${who} (overlap_policy ${overlapPolicy})`, 'overlap')
  }
  if (overlapPolicy !== 'ALLOW' && runAhead !== null)
    return answer(
      `waits for the end of the graph run ${runAhead} (overlap_policy ${overlapPolicy})`,
      'overlap',
    )
  if (overlapPolicy === 'ALLOW' && concurrencyLimit !== null && underWay.letGo >= concurrencyLimit) {
    const used = `${underWay.letGo} of ${concurrencyLimit} under way`
    return answer(`waits for the concurrency_limit: ${used}`, 'concurrency_limit')
  }
  if (key !== null && key.held >= key.limit) {
    const used = `${key.held} of ${key.limit} in use`
    return answer(`waits for the concurrency_key "${shorten(key.key)}": ${used}`, 'concurrency_key')
  }
  if (underWay.owed !== null) return answer(`waits for owed slots: the ${owedText(underWay.owed)}`, 'owed')
  return answer('is about to be released', 'queued')
}

function answerFor(
  { executionId, status, slot }: UnendedExecution,
  text: string,
  reason: WhyReason | null,
): Answer {
  return { text, status, reason, slot, executionId }
}

function whyOwed(owed: NonNullable<UnderWay['owed']>): Answer {
  const text = `Late slots wait for their turn: the ${owedText(owed)} are owed and run in order, one after the other.`
  return { text, status: 'PENDING', reason: 'owed', slot: owed.from, executionId: null }
}

function owedText({ from, to }: NonNullable<UnderWay['owed']>): string {
  return `slots from ${atText(from)} to ${atText(to)}`
}

function whyCompleted({ job, last }: NowFacts): string {
  const { schedule, runs } = job
  const { max_runs: max, end_at: end } = schedule
  if (schedule.type === 'IMMEDIATE' || schedule.type === 'ONE_TIME') {
    return last === null ? 'its one slot is over' : `its one slot, ${atText(last.slot)}, ${fateText(last)}`
  }
  if (max !== undefined && runs >= max)
    return `it ran ${runs} times, ${runs === max ? 'which is its max_runs' : `and its max_runs is ${max}`}`
  if (end !== undefined) return `no slot is left before its end_at, ${end}`
  return 'no slot is left'
}

function whyNotDue({ job, last, next, nextRunAt, runAhead }: NowFacts): Answer {
  const none = { status: 'SCHEDULED', reason: null, slot: null, executionId: null } as const
  if (last !== null && last.status === 'PENDING' && last.executionId === null) {
    const text = `The slot ${atText(last.slot)} is due, and no scheduler has fired it yet.`
    return { ...none, text, status: 'PENDING', slot: last.slot }
  }
  if (next === null && awaitsEnd(job)) {
    const text =
      runAhead === null
        ? 'Its last execution has ended, and the next slot, which counts from that end, is being planned.'
        : `Its last execution has ended, and the next slot counts from the end of the graph run ${runAhead}, which is under way.`
    return { ...none, text, reason: 'after_completion' }
  }
  if (next === null) {
    const text = nextRunAt === null ? 'No slot of the job is known.' : `Not due until ${atText(nextRunAt)}.`
    return { ...none, text }
  }
  const { slot, dueAt, exclusion } = next
  if (exclusion !== null) {
    const then = nextRunAt === null ? 'no later run is known' : `it runs next at ${atText(nextRunAt)}`
    const text = `Not due: its next slot, ${atText(slot)}, is excluded ${exclusion}; ${then}.`
    return { ...none, text, reason: 'exclusion', slot }
  }
  const jitter = dueAt === slot ? '' : `, the slot ${atText(slot)} with its jitter`
  return { ...none, text: `Not due until ${atText(dueAt)}${jitter}.`, slot }
}

function ofJob({ status }: JobView, text: string): Answer {
  assertEnded(status)
  return { text, status, reason: null, slot: null, executionId: null }
}

function assertEnded(status: JobView['status']): asserts status is 'PAUSED' | 'COMPLETED' | 'DELETED' {
  if (status === 'ACTIVE') throw new Error('the slots of an active job answer for it')
}

/** Whether its next slot is known only once its last execution has ended. */
export function awaitsEnd({ status, slotAt, schedule, dependsOn }: JobView): boolean {
  return status === 'ACTIVE' && slotAt === null && dependsOn.length === 0 && isAfterCompletion(schedule)
}

/** Of a job that counts from the end of its last execution: that is why it has no next slot. */
function withAwait(job: JobView, answer: Answer): Answer {
  if (!awaitsEnd(job)) return answer
  return {
    ...answer,
    text: `${answer.text.slice(0, -1)}; the next slot counts from its end (after_completion).`,
  }
}

/** Adds the pause to an answer: the work that continues while the job is paused is not the whole answer. */
function withPause(job: JobView, answer: Answer): Answer {
  if (job.status !== 'PAUSED') return answer
  return { ...answer, text: `${answer.text.slice(0, -1)}; the job itself ${pauseText(job)}.` }
}

function attemptText({ job }: NowFacts, attempt: number): string {
  return attempt <= 1 ? '' : `, attempt ${attempt} of ${Math.max(attempt, job.retryPolicy.max_retries + 1)}`
}

/** By the timeout that the job has now: it may have had another one when this was fired. */
function untilText({ job, now }: NowFacts, { startedAt }: UnendedExecution): string {
  const until = epochMs((startedAt ?? 0) + job.execution.timeout_seconds * 1_000)
  return until > now ? ` and has until ${atText(until)}` : ' and has'
}

function sinceText({ startedAt }: UnendedExecution): string {
  return startedAt === null ? '' : ` since ${atText(startedAt)}`
}
