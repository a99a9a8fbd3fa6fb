// Runs of graphs: every node ends once, each starts only when its dependencies have ended as required, every skip has a
// reason, and no run stays open.
import type { NodeState, RunEdge, RunNode } from '../../src/domain/graphs/graph-run.ts'
import { type EpochMs, toRfc3339 } from '../../src/lib/time/epoch.ts'
import type { GraphRunRow } from '../../testing/memory-store/rows.ts'
import { isMetBy } from '../graphs/model.ts'
import { isSuperseded, stopsOf } from './check-changes.ts'
import type { CheckedJob, Context, Evidence, RecordedExecution } from './checker.ts'
import { latestReadBy } from './clock-steps.ts'

/** A run with all executions it had. */
export interface CheckedRun {
  bornAt: Evidence['bornAt']
  run: GraphRunRow
  /** By node index, oldest first; an execution replaced by a resume comes before its replacement. */
  executions: readonly (readonly RecordedExecution[])[]
  /** From when to when it was under way: once, and once more for each time it was resumed. */
  rounds: readonly { from: EpochMs; to: EpochMs }[]
}

/** Without faults, a node that may start does so within this time. */
const lateMsMax = 2_000
const aftermathMs = 30_000

export function checkRuns(context: Context, graphJobs: readonly CheckedJob[]): CheckedRun[] {
  const { evidence, say } = context
  const byId = new Map(
    graphJobs.flatMap(({ executions }) => executions.map((one) => [one.executionId, one] as const)),
  )
  const jobs = new Map(graphJobs.map((checked) => [checked.job.jobId, checked]))
  const runs: CheckedRun[] = []
  for (const run of evidence.store.graphRuns.values()) {
    const name = `run ${run.runId} of ${toRfc3339(run.slot)}`
    if (run.finishedAt === null) {
      say('I14', `${name} is still ${run.status}: ${run.states}`)
      continue
    }
    const checked = gatherRun(context, run, byId)
    runs.push(checked)
    run.graph.plan.nodes.forEach((node, nodeIndex) => {
      if (node.role !== 'outside') checkNode(context, checked, nodeIndex, jobs.get(node.jobId)!)
    })
    checkStatus(context, run)
    checkCancels(context, checked, jobs)
  }
  return runs
}

function gatherRun(
  { evidence, say }: Context,
  run: GraphRunRow,
  byId: ReadonlyMap<string, RecordedExecution>,
): CheckedRun {
  const executions = run.graph.plan.nodes.map(({ executionId }, nodeIndex) => {
    const replaced = run.replaced.filter((one) => one.nodeIndex === nodeIndex).map((one) => one.executionId)
    const all = [...replaced, executionId].filter((id) => id !== null)
    return all.flatMap((id) => {
      const found = byId.get(id)
      if (found === undefined) say('I19', `${id} of run ${run.runId} is on no record`)
      return found ?? []
    })
  })
  const resumes = evidence.deeds.filter((deed) => deed.kind === 'resume run' && deed.runId === run.runId)
  if (resumes.length !== run.resumes)
    say('I19', `run ${run.runId} was resumed ${resumes.length} times, not ${run.resumes}`)
  const starts = [run.createdAt, ...resumes.map(({ at }) => at)]
  const ends = [
    ...resumes.map((deed) => (deed.kind === 'resume run' ? deed.finishedAt : deed.at)),
    run.finishedAt!,
  ]
  return {
    bornAt: evidence.bornAt,
    run,
    executions,
    rounds: starts.map((from, index) => ({ from, to: ends[index]! })),
  }
}

function checkNode(context: Context, checked: CheckedRun, nodeIndex: number, job: CheckedJob): void {
  const { say } = context
  const { run, executions } = checked
  const own = executions[nodeIndex]!
  const state = run.states[nodeIndex]!
  const name = `"${job.version.name}" of run ${run.runId}`
  if (own.length > run.resumes + 1) say('I19', `${name} has ${own.length} executions`)
  if (state === 'unrun' ? own.length > 0 : own.length === 0 || stateOf(own.at(-1)!) !== state)
    say('I19', `${name} is ${state}, and its last execution ${own.at(-1)?.outcome ?? 'is not there'}`)
  for (const execution of own) {
    if (execution.runId !== run.runId)
      say('I19', `${execution.executionId} is in the plan of run ${run.runId} only`)
    if (run.graph.plan.nodes[nodeIndex]!.role === 'root') continue
    if (execution.skipReason !== null) checkSkipped(context, checked, nodeIndex, execution, job)
    else if (execution.attempts.length > 0) checkWent(context, checked, nodeIndex, execution)
  }
}

function checkWent(
  context: Context,
  checked: CheckedRun,
  nodeIndex: number,
  execution: RecordedExecution,
): void {
  const { executionId, firedAt } = execution
  const isMet = ({ edge, state }: Parent) => state !== null && isMetBy(edge.on, state)
  let metAt = 0
  const parents = parentsBy(context, checked, nodeIndex, firedAt, (all) => all.every(isMet))
  for (const { edge, state, endedAt } of parents) {
    if (!isMet({ edge, state }))
      context.say(
        'I19',
        `${executionId} went at ${toRfc3339(firedAt)} on ${edge.on} of nodeIndex ${edge.parent}, which was ${state}`,
      )
    metAt = Math.max(metAt, endedAt)
  }
  const from = checked.rounds.findLast((round) => round.from <= firedAt)?.from ?? checked.run.createdAt
  const lateMs = firedAt - Math.max(metAt, from)
  if (context.plain && lateMs > lateMsMax)
    context.say('I5', `${executionId} went ${lateMs} ms after it could`)
}

function checkSkipped(
  context: Context,
  checked: CheckedRun,
  nodeIndex: number,
  { executionId, skipReason, endedAt, calls }: RecordedExecution,
  job: CheckedJob,
): void {
  const { say } = context
  if (calls.length > 0) say('I19', `${executionId} was skipped and called`)
  const isForParents = skipReason === 'dependency'
  const isOneUnmet = (all: readonly Parent[]) =>
    all.some(({ edge, state }) => state !== null && !isMetBy(edge.on, state))
  const isOneOpen = (all: readonly Parent[]) => all.some(({ state }) => state === null)
  const parents = parentsBy(context, checked, nodeIndex, endedAt, (all) =>
    isForParents ? isOneUnmet(all) : !isOneUnmet(all) && !isOneOpen(all),
  )
  const isUnmet = isOneUnmet(parents)
  const name = `${executionId} was skipped at ${toRfc3339(endedAt)}`
  if (isForParents) {
    if (!isUnmet) say('I19', `${name}, and what it depends on was ${parents.map(({ state }) => state)}`)
    return
  }
  if (isUnmet || isOneOpen(parents)) say('I19', `${name} as ${skipReason} before its turn`)
  const status = skipReason === 'paused' ? 'PAUSED' : 'DELETED'
  const isStopped = stopsOf(job.changes).some(
    (stop) => stop.status === status && endedAt >= stop.from && endedAt <= stop.to,
  )
  if (!isStopped) say('I19', `${name} as ${skipReason}, and its job was not`)
}

interface Parent {
  edge: RunEdge
  /** How it had ended; null: it had not. */
  state: NodeState | null
}

/** How all that a node depends on had ended by then; of two readings of the clock the one that fits. */
function parentsBy(
  context: Context,
  checked: CheckedRun,
  nodeIndex: number,
  at: EpochMs,
  fits: (parents: readonly Parent[]) => boolean,
): (Parent & { endedAt: number })[] {
  const edges = checked.run.graph.plan.edges.filter(({ child }) => child === nodeIndex)
  const by = (instant: EpochMs) => edges.map((edge) => ({ edge, ...parentAt(checked, edge, instant) }))
  const parents = by(at)
  if (fits(parents)) return parents
  const parentsBefore = by(latestReadBy(context.evidence, at))
  return fits(parentsBefore) ? parentsBefore : parents
}

/** How a parent had ended by then; null: it had not. */
function parentAt(
  { run, executions, rounds, bornAt }: CheckedRun,
  { parent }: RunEdge,
  at: EpochMs,
): { state: NodeState | null; endedAt: number } {
  const all = executions[parent]!
  const { role } = run.graph.plan.nodes[parent]!
  if (role === 'outside' || all.length === 0) return { state: run.states[parent]!, endedAt: 0 }
  // That which was in its place then.
  const current = all.findLast(({ executionId }) => bornAt.get(executionId)! <= at)
  if (current !== undefined)
    return current.endedAt <= at
      ? { state: stateOf(current), endedAt: current.endedAt }
      : { state: null, endedAt: 0 }
  // A root with a skipped slot has an execution only since it was resumed.
  const isResumed = rounds.length > 1 && bornAt.get(all[0]!.executionId)! >= rounds[1]!.from
  return { state: isResumed ? 'unrun' : null, endedAt: 0 }
}

function stateOf({ outcome, skipReason }: RecordedExecution): NodeState {
  if (outcome === 'skipped') return skipReason === 'quota' ? 'unrun' : skipReason!
  return outcome === 'lost' ? 'failed' : outcome
}

function checkStatus({ say }: Context, { runId, status, states, graph, cancelMessage }: GraphRunRow): void {
  const own = states.filter((_, nodeIndex) => graph.plan.nodes[nodeIndex]!.role !== 'outside')
  const has = (...wanted: NodeState[]) => own.some((state) => wanted.includes(state))
  const expected = has('failed', 'timed_out') ? 'FAILED' : has('cancelled') ? 'CANCELLED' : 'SUCCEEDED'
  if (status !== (cancelMessage === null ? expected : 'CANCELLED'))
    say('I19', `run ${runId} is ${status}: ${own}`)
}

/** Every cancelled execution was cancelled by a request, and nothing of a cancelled run starts any more. */
function checkCancels(context: Context, checked: CheckedRun, jobs: ReadonlyMap<string, CheckedJob>): void {
  const { evidence, say, plain, wasFaulty } = context
  const { run, executions, rounds } = checked
  const deeds = evidence.deeds
    .filter((deed) => deed.kind === 'cancel run')
    .filter(({ runId }) => runId === run.runId)
  const { nodes } = run.graph.plan
  const isRoot = ({ jobId }: RecordedExecution) =>
    nodes.some((node: RunNode) => node.jobId === jobId && node.role === 'root')
  const all = executions.flatMap((list, nodeIndex) => (nodes[nodeIndex]!.role === 'outside' ? [] : list))
  const roots = all.filter(isRoot)
  for (const one of all) {
    const { executionId, cancelledAt } = one
    for (const { at, running } of deeds) {
      if (running.includes(executionId)) continue
      const next = rounds.find(({ from }) => from > at)?.from ?? Number.POSITIVE_INFINITY
      const late = one.calls.find((call) => call.at > at && call.at < next)
      const isNew = one.calls[0] === late && late !== undefined && !(isRoot(one) && one.firedAt > at)
      if (isNew && (plain || !wasFaulty(late.server, late.at - aftermathMs, late.at)))
        say('I16', `${executionId} began at ${toRfc3339(late.at)}, after its run was cancelled`)
    }
    if (cancelledAt === null) continue
    const isMeant = evidence.deeds.some(
      (deed) =>
        deed.at <= cancelledAt &&
        ((deed.kind === 'cancel execution' && deed.executionId === executionId) ||
          (deed.kind === 'delete' && deed.jobId === one.jobId)),
    )
    const isOfRun =
      deeds.some(({ at }) => at <= cancelledAt) ||
      roots.some((root) => root.cancelledAt !== null && root.cancelledAt <= cancelledAt && root !== one)
    const isMadeWay =
      isSuperseded(one) &&
      roots.some(({ jobId }) => jobs.get(jobId)!.version.overlapPolicy === 'CANCEL_RUNNING')
    if (!isMeant && !isOfRun && !isMadeWay)
      say('I11', `${executionId} was cancelled by nobody: ${one.cancelMessage}`)
  }
}
