// Jobs of graphs: their executions are recorded and called like all others; each execution that a root starts has its
// run; and unless overlap is allowed, the runs of a root come one after the other.
import { idempotencyKeyOf } from '../../src/domain/queue/execution.ts'
import { type EpochMs, toRfc3339 } from '../../src/lib/time/epoch.ts'
import { checkAttempts } from './check-attempts.ts'
import { checkCoverage, keptKeyOf } from './check-calls.ts'
import type { CheckedRun } from './check-runs.ts'
import { checkSlots } from './check-slots.ts'
import { checkWords } from './check-words.ts'
import type { CheckedJob, Context, RecordedExecution } from './checker.ts'
import { latestReadBy } from './clock-steps.ts'

/** A time in which a job, or a run that it started, was under way. */
interface Busy {
  name: string
  from: EpochMs
  to: EpochMs
  /** A resumed root waits for executions of its job only: a younger run may have overtaken it. */
  isResumedRoot: boolean
}

export function checkGraphJobs(
  context: Context,
  jobs: readonly CheckedJob[],
  runs: readonly CheckedRun[],
): void {
  const byId = new Map(runs.map((run) => [run.run.runId, run]))
  for (const checked of jobs) {
    const isRoot = context.evidence.graphs.get(checked.job.jobId)!.role === 'root'
    const executions = checked.executions.filter(({ skipReason }) => skipReason === null)
    checkAttempts(context, { ...checked, executions })
    checkWords(context, { ...checked, executions })
    for (const one of executions) {
      checkCoverage(context, one)
      checkKeys(context, one)
      checkRunOf(context, one, byId, isRoot)
    }
    const own = runs.filter((run) => run.run.graph.plan.nodes.some(isRootOf(checked)))
    if (isRoot) checkRoot(context, { ...checked, executions }, own)
    checkBusy(context, checked, executions.flatMap(busyOf))
    if (isRoot) checkBusy(context, checked, busyOfRoot(checked, own))
  }
}

const isRootOf =
  ({ job }: CheckedJob) =>
  ({ jobId, role }: { jobId: string; role: string }) =>
    jobId === job.jobId && role === 'root'

function checkRoot(context: Context, checked: CheckedJob, runs: readonly CheckedRun[]): void {
  const { executions } = checked
  const ofRuns = runs.flatMap((one) =>
    one.rounds.map(({ from, to }, round) => {
      const firedAt = round === 0 ? Math.min(from, firstOf(checked, one)) : from
      return { slot: one.run.slot, firedAt: firedAt as EpochMs, endedAt: to }
    }),
  )
  const slots = executions.filter(({ kind }) => kind === 'slot')
  checkSlots(context, { ...checked, executions: slots, inTheWay: [...executions, ...ofRuns] })
  if (checked.version.overlapPolicy !== 'SKIP') return
  const busy = busyOfRoot(checked, runs)
  for (const { executionId, firedAt } of slots) {
    const other = busy.find(({ name, from, to }) => name !== executionId && firedAt > from && firedAt < to)
    if (other !== undefined && latestReadBy(context.evidence, firedAt) < other.to)
      context.say(
        'I20',
        `${executionId} was fired at ${toRfc3339(firedAt)}, while ${other.name} was under way`,
      )
  }
}

/**
 * When its root was created. The run blocks others from then on, also before its first step: its root may have been
 * cancelled and be over before the run is made, and the dependents of the root have not had their turn.
 */
function firstOf({ job }: CheckedJob, { run, executions, bornAt }: CheckedRun): number {
  const own = executions[run.graph.plan.nodes.findIndex(({ jobId }) => jobId === job.jobId)]!
  return Math.min(...own.map(({ executionId }) => bornAt.get(executionId)!))
}

/** Each key is the one by the kind of its execution, unless it was kept from an execution that this one replaced. */
function checkKeys({ say }: Context, one: RecordedExecution): void {
  const { executionId, kind, attempts, calls } = one
  const kept = keptKeyOf(one)
  for (const { headers } of calls)
    if (headers['x-idempotency-key'] !== kept) say('I15', `${executionId} was called with another key`)
  if (attempts.some(({ idempotencyKey }) => (idempotencyKey ?? idempotencyKeyOf(kind, one)) !== kept))
    say('I15', `${executionId} had several keys`)
}

function checkRunOf(
  { evidence, say }: Context,
  one: RecordedExecution,
  runs: ReadonlyMap<string, CheckedRun>,
  isRoot: boolean,
): void {
  const { executionId, jobId, kind, runId, firedAt } = one
  if (runId === null) {
    if (isRoot || kind !== 'trigger') say('I19', `${executionId} of kind ${kind} has no run`)
    return
  }
  const run = runs.get(runId)
  if (run === undefined) {
    say('I19', `the run ${runId} of ${executionId} is not there or not over`)
    return
  }
  if (run.executions.some((list) => list.includes(one))) return
  // Its run was cancelled before it fired; so is it, unless it ends sooner.
  const wasCancelled =
    // By a newer slot of another root, when all of it that ran had ended: no execution tells of it.
    supersededBy(run) <= firedAt ||
    // The same, but the run was resumed later: the reason of its cancel is no longer on record.
    (one.outcome === 'cancelled' && run.rounds.some(({ to }) => to <= firedAt)) ||
    evidence.deeds.some((deed) => deed.kind === 'cancel run' && deed.runId === runId && deed.at <= firedAt) ||
    run.executions.flat().some(({ cancelledAt }) => cancelledAt !== null && cancelledAt <= firedAt)
  if (wasCancelled) return
  // Its graph was changed when the run of its slot had begun: then it runs alone.
  const { tenantId } = evidence.graphs.get(jobId)!
  const isChanged = evidence.deeds.some(
    (deed) =>
      deed.kind === 'edges' && deed.tenantId === tenantId && deed.at >= run.run.slot && deed.at <= firedAt,
  )
  if (kind !== 'slot' || !isChanged) say('I19', `${executionId} is not in its run ${runId}`)
}

/** The slot that a run was cancelled for; Infinity: it was not. */
function supersededBy({ run }: CheckedRun): number {
  const slot = /: the slot (\S+) came while it was under way/.exec(run.cancelMessage ?? '')?.[1]
  return slot === undefined ? Number.POSITIVE_INFINITY : Date.parse(slot)
}

function checkBusy({ say, evidence }: Context, { version }: CheckedJob, busy: readonly Busy[]): void {
  if (version.overlapPolicy === 'ALLOW') return
  let last: Busy | null = null
  for (const one of busy.toSorted((a, b) => a.from - b.from || a.to - b.to)) {
    if (
      last !== null &&
      !one.isResumedRoot &&
      one.from < last.to &&
      latestReadBy(evidence, one.from) < last.to
    )
      say(
        'I20',
        `"${version.name}": ${one.name} began at ${toRfc3339(one.from)}, before ${last.name} ended at ${toRfc3339(last.to)}`,
      )
    if (last === null || one.to > last.to) last = one
  }
}

/** From its first call to its end. A call of a server that was taken for dead may come when all is over. */
function busyOf({ executionId, calls, endedAt }: RecordedExecution): Busy[] {
  const from = calls[0]?.at
  if (from === undefined || from > endedAt) return []
  return [{ name: executionId, from, to: endedAt, isResumedRoot: false }]
}

/**
 * From the first call of the root, or a resume that leaves the root as it is, to the end of the run: a run is not in
 * progress while its root waits. Also includes executions of the root that ran alone.
 */
function busyOfRoot({ job, executions }: CheckedJob, runs: readonly CheckedRun[]): Busy[] {
  const inRuns = new Set<RecordedExecution>()
  const busy = runs.flatMap(({ run, executions: byPlace, rounds, bornAt }) => {
    const own = byPlace[run.graph.plan.nodes.findIndex(({ jobId }) => jobId === job.jobId)]!
    for (const one of own) inRuns.add(one)
    return rounds.flatMap(({ from, to }, round): Busy[] => {
      const until = rounds[round + 1]?.from ?? Number.POSITIVE_INFINITY
      const since = round === 0 ? 0 : from
      const root = own.find(({ executionId }) => {
        const at = bornAt.get(executionId)!
        return at >= since && at < until
      })
      if (root === undefined) return round === 0 ? [] : [{ name: run.runId, from, to, isResumedRoot: false }]
      const began = root.calls[0]?.at
      if (began === undefined || began > to) return []
      return [{ name: root.executionId, from: began, to, isResumedRoot: round > 0 }]
    })
  })
  return [...busy, ...executions.filter((one) => !inRuns.has(one)).flatMap(busyOf)]
}
