// Graph runs in the test kit: which jobs run after which, by the server's own rules.
import { randomUUID } from 'node:crypto'
import type { Edge } from '../../server/src/domain/graphs/graph.ts'
import {
  draftRun,
  type NodeState,
  RunGraph,
  skipMessageOf,
  statusOfNode,
  stepRun,
} from '../../server/src/domain/graphs/graph-run.ts'
import { noSchedule, type StoredSchedule } from '../../server/src/domain/jobs/job.ts'
import { previewBytesMax } from '../../server/src/domain/queue/attempt.ts'
import { isAfterCompletion } from '../../server/src/domain/schedule/after-completion.ts'
import { type CompiledSchedule, nextSlot } from '../../server/src/domain/schedule/next-run.ts'
import { epochMs } from '../../server/src/lib/time/epoch.ts'
import type { AnyJob, JobParent } from './define-job.ts'
import { hasDependencies, readDependencies } from './dependencies.ts'
import type { Execution } from './test-kit-run.ts'

/** The kit's view of a job. */
export interface GraphMember {
  job: AnyJob
  jobId: string
  /** Null: it has no slots. */
  schedule: { definition: StoredSchedule; compiled: CompiledSchedule } | null
  /** The slot that is to come; null: none is. */
  plannedMs: number | null
}

export interface GraphsDeps<Member extends GraphMember> {
  members: ReadonlyMap<string, Member>
  /** The latest execution of a job that has ended. */
  latestOf: (key: string) => Execution | undefined
  /** An execution that is to wait for others. */
  make: (member: Member, root: Execution) => Execution
  /** It is its turn. */
  go: (member: Member, execution: Execution) => void
  /** With the executions of its roots. */
  onOver: (roots: readonly Execution[]) => void
}

/** Jobs are known by their keys here, so that messages have these. */
interface GraphRun {
  runId: string
  kind: 'slot' | 'trigger'
  slotMs: number
  graph: RunGraph
  states: readonly NodeState[]
  /** By place; null: a root that has not fired, or nothing of an outside one has ended. */
  executions: (Execution | null)[]
  isCancelled: boolean
}

export class Graphs<Member extends GraphMember> {
  readonly #deps: GraphsDeps<Member>
  readonly #edges: Edge[] = []
  /** Runs that have not ended. */
  readonly #open = new Set<GraphRun>()

  constructor(deps: GraphsDeps<Member>) {
    this.#deps = deps
    for (const { job } of deps.members.values()) {
      for (const one of readDependencies(job)) {
        const parentId = 'job' in one ? one.job.key : one.jobId
        this.#edges.push({ parentId, childId: job.key, on: one.on })
      }
    }
  }

  /** An execution of a root starts a run, or joins that of its slot. Of other jobs it runs alone. */
  start(execution: Execution): void {
    const { key, kind } = execution
    const isRoot = !hasDependencies(execution.job) && this.#edges.some(({ parentId }) => parentId === key)
    if (!isRoot || kind === 'dependency') return
    const slotMs = execution.scheduledTime.getTime()
    const isOf = (run: GraphRun) => kind === 'slot' && run.kind === 'slot' && run.slotMs === slotMs
    const run =
      [...this.#open].find((one) => isOf(one) && one.states[placeOf(one, key)] === 'unfired') ??
      this.#draft(execution, kind)
    execution.graphRunId = run.runId
    run.executions[placeOf(run, key)] = execution
    this.#step(run, new Map([[placeOf(run, key), 'going']]))
    if (run.isCancelled) execution.cancel()
  }

  /** Whether a run is under way that was started by an execution of this job which does not wait any more. */
  isUnderWay(key: string): boolean {
    return this.#runsOf(key).some(({ execution }) => execution.status !== 'PENDING')
  }

  cancelRuns(key: string): void {
    for (const { run } of this.#runsOf(key)) this.#cancel(run)
  }

  onEnd(execution: Execution): void {
    const run = [...this.#open].find(({ runId }) => runId === execution.graphRunId)
    if (run === undefined) return
    const place = placeOf(run, execution.key)
    const isRoot = run.graph.plan.nodes[place]!.role === 'root'
    if (isRoot && execution.status === 'CANCELLED') this.#cancel(run)
    this.#step(run, new Map([[place, stateOf(execution)]]))
  }

  /** After a slot of this job was dealt with: runs need not wait for it when it does not come any more. */
  lookFor({ job, plannedMs }: GraphMember): void {
    for (const run of [...this.#open]) {
      const place = placeOf(run, job.key)
      const isToCome = plannedMs !== null && plannedMs <= run.slotMs
      if (run.states[place] === 'unfired' && !isToCome) this.#step(run, new Map([[place, 'unrun']]))
    }
  }

  #runsOf(key: string): { run: GraphRun; execution: Execution }[] {
    return [...this.#open].flatMap((run) => {
      const place = placeOf(run, key)
      const execution = run.executions[place]
      return execution && run.graph.plan.nodes[place]!.role === 'root' ? [{ run, execution }] : []
    })
  }

  #draft(first: Execution, kind: GraphRun['kind']): GraphRun {
    const { members, latestOf, make } = this.#deps
    const slotMs = first.scheduledTime.getTime()
    const reached = this.#graphOf(first.key)
    const jobs = [...members.values()].filter(({ job }) => reached.has(job.key))
    const made = { version: 1, anchorAt: epochMs(0), status: 'ACTIVE' } as const
    const before = epochMs(slotMs - 1)
    const hasSlot = ({ jobId: key }: { jobId: string }) => {
      const schedule = members.get(key)!.schedule
      if (schedule === null || isAfterCompletion(schedule.definition)) return false
      return nextSlot(schedule.compiled, before) === slotMs
    }
    const draft = draftRun(
      jobs.map(({ job: { key }, schedule }) => ({
        ...{ ...made, jobId: key, name: key, schedule: schedule?.definition ?? noSchedule },
      })),
      this.#edges.filter(({ childId }) => reached.has(childId)),
      { rootId: first.key, kind, hasSlot },
    )
    const run: GraphRun = {
      ...{ runId: randomUUID(), kind, slotMs, isCancelled: false },
      graph: new RunGraph({
        edges: draft.edges,
        nodes: draft.nodes.map((node) => ({ ...node, executionId: null })),
      }),
      states: [],
      executions: [],
    }
    const states: NodeState[] = []
    for (const { jobId: key, role } of draft.nodes) {
      const member = members.get(key)
      if (role === 'inner') {
        const execution = make(member!, first)
        execution.status = 'WAITING_DEPENDENCIES'
        execution.graphRunId = run.runId
        run.executions.push(execution)
        states.push('blocked')
      } else if (role === 'outside') {
        const latest = latestOf(key)
        run.executions.push(latest ?? null)
        states.push(latest === undefined ? 'absent' : stateOf(latest))
      } else {
        run.executions.push(null)
        const { plannedMs } = member!
        const isToCome = key === first.key || (plannedMs !== null && plannedMs <= slotMs)
        states.push(isToCome ? 'unfired' : 'unrun')
      }
    }
    run.states = states
    this.#open.add(run)
    return run
  }

  /** All that depend on each other, through this one. */
  #graphOf(key: string): Set<string> {
    const reached = new Set([key])
    // Grows while it is walked.
    for (const at of reached) {
      for (const { parentId, childId } of this.#edges) {
        if (parentId === at) reached.add(childId)
        if (childId === at) reached.add(parentId)
      }
    }
    return reached
  }

  #cancel(run: GraphRun): void {
    if (run.isCancelled) return
    run.isCancelled = true
    for (const [place, execution] of run.executions.entries()) {
      if (run.graph.plan.nodes[place]!.role !== 'outside') execution?.cancel()
    }
  }

  #step(run: GraphRun, changes: ReadonlyMap<number, NodeState>): void {
    const { graph, isCancelled } = run
    const { states, go, skip, over } = stepRun(graph, run.states, { changes, look: [], isCancelled })
    run.states = states
    if (over !== null) this.#open.delete(run)
    // Jobs are known by their keys here.
    const nameOf = (key: string) => key
    for (const place of skip) run.executions[place]!.skip(skipMessageOf(graph, states, place, nameOf))
    for (const place of go) {
      const execution = run.executions[place]!
      execution.parents = this.#parentsOf(run, place)
      execution.status = 'PENDING'
      this.#deps.go(this.#deps.members.get(execution.key)!, execution)
    }
    if (over !== null) {
      const roots = run.executions.filter((_, place) => graph.plan.nodes[place]!.role === 'root')
      this.#deps.onOver(roots.filter((one) => one !== null))
    }
  }

  #parentsOf({ graph, states, executions }: GraphRun, place: number): JobParent[] {
    return graph.parentsOf(place).map(({ parent }) => {
      const key = graph.plan.nodes[parent]!.jobId
      const execution = executions[parent] ?? null
      return {
        jobId: this.#deps.members.get(key)?.jobId ?? key,
        jobKey: key,
        executionId: execution?.executionId ?? null,
        status: statusOfNode(states[parent]!),
        ...(execution?.result !== undefined && { result: asParentResult(execution.result) }),
      }
    })
  }
}

/** The result as it would arrive: the server keeps the first 4 KB of it, and a cut result is no longer JSON. */
export function asParentResult(result: unknown): unknown {
  const bytes = Buffer.from(JSON.stringify(result))
  if (bytes.length <= previewBytesMax) return structuredClone(result)
  // Whole characters only.
  return new TextDecoder().decode(bytes.subarray(0, previewBytesMax), { stream: true })
}

/** -1: it is not in the run. */
function placeOf({ graph }: GraphRun, key: string): number {
  return graph.plan.nodes.findIndex(({ jobId }) => jobId === key)
}

function stateOf({ status }: Execution): NodeState {
  if (status === 'SUCCEEDED') return 'succeeded'
  if (status === 'TIMED_OUT') return 'timed_out'
  if (status === 'SKIPPED') return 'dependency'
  return status === 'CANCELLED' ? 'cancelled' : 'failed'
}
