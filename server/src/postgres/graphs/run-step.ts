// A run in the middle of a step: the data read so far, and the resulting changes.

import {
  type ExecutionSkipReason,
  isNodeEnded,
  type NodeState,
  nodeStateOf,
  type RunNode,
  type RunStatus,
  type RunStep,
  stepRun,
} from '../../domain/graphs/graph-run.ts'
import type { JobStatus } from '../../domain/jobs/job.ts'
import type { Outcome } from '../../domain/queue/execution.ts'
import type { HeldRun } from './rows.ts'

export class RunInStep {
  readonly run: HeldRun
  readonly changes = new Map<number, NodeState>()
  /** Roots that have fired. */
  readonly fired = new Map<number, RunNode>()
  readonly noteIds: number[] = []
  /** Executions of roots that have no position in the run, with their jobs. Their other notes go with them. */
  readonly strays = new Map<string, string>()
  /** The strays that fire though their run was cancelled. */
  readonly late: string[] = []
  /** Executions that end in this step. */
  readonly ended: string[] = []
  /** Why it is being cancelled; null: it is not. */
  cancelMessage: string | null
  /** Nodes to cancel. */
  cancels: number[] = []
  step: RunStep

  constructor(run: HeldRun) {
    this.run = run
    this.cancelMessage = run.cancelMessage
    this.step = { states: [...run.states], go: [], skip: [], over: null }
  }

  get isOver(): boolean {
    return this.run.status !== 'RUNNING' && this.run.status !== 'CANCELLING'
  }

  decide(statuses?: ReadonlyMap<string, JobStatus>): void {
    if (this.isOver) return
    const { graph, states, look } = this.run
    const isCancelled = this.cancelMessage !== null
    const statusOf = (jobId: string) => statuses?.get(jobId)
    this.step = stepRun(graph, states, { changes: this.changes, look, isCancelled, statusOf })
  }

  executionOf(nodeIndex: number): string | null {
    return (this.fired.get(nodeIndex) ?? this.run.graph.plan.nodes[nodeIndex]!).executionId
  }

  take(note: NoteRow): void {
    if (note.what === 'root' && !this.#isAwaited(note.job_id)) this.#turnAway(note)
    if (this.strays.has(note.execution_id)) return
    this.noteIds.push(note.note_id)
    if (this.isOver) return
    if (note.what === 'root') this.#takeRoot(note)
    else if (note.what === 'end') this.#takeEnd(note)
    else if (this.#isOfNode(note)) this.cancel(note.message ?? '')
  }

  #isAwaited(jobId: string): boolean {
    const nodeIndex = this.run.nodeIndexes.get(jobId)
    return (
      nodeIndex !== undefined &&
      !this.isOver &&
      this.run.states[nodeIndex] === 'unfired' &&
      !this.fired.has(nodeIndex)
    )
  }

  /** Its graph was another one when the run began, or the run has done without it. */
  #turnAway({ job_id: jobId, execution_id: executionId }: NoteRow): void {
    this.strays.set(executionId, jobId)
    const nodeIndex = this.run.nodeIndexes.get(jobId)
    const isUnrun = nodeIndex !== undefined && this.run.states[nodeIndex] === 'unrun'
    if (isUnrun && this.cancelMessage !== null) this.late.push(executionId)
  }

  /** Otherwise another execution has replaced it, or it has left the run. */
  #isOfNode({ job_id: jobId, execution_id: executionId }: NoteRow): boolean {
    const nodeIndex = this.run.nodeIndexes.get(jobId)
    return nodeIndex !== undefined && this.executionOf(nodeIndex) === executionId
  }

  #takeRoot({ job_id: jobId, execution_id: executionId, version }: NoteRow): void {
    const nodeIndex = this.run.nodeIndexes.get(jobId)!
    const node = this.run.graph.plan.nodes[nodeIndex]!
    this.fired.set(nodeIndex, { ...node, executionId, version: version ?? node.version })
    this.changes.set(nodeIndex, 'going')
    if (this.cancelMessage !== null) this.cancels.push(nodeIndex)
  }

  #takeEnd(note: NoteRow): void {
    if (!this.#isOfNode(note)) return
    const { job_id: jobId, outcome, skip_reason, message, version } = note
    const nodeIndex = this.run.nodeIndexes.get(jobId)!
    // It has no record: nodes that depend on its success do not run.
    this.changes.set(nodeIndex, outcome === null ? 'failed' : nodeStateOf(outcome, skip_reason))
    const node = this.fired.get(nodeIndex) ?? this.run.graph.plan.nodes[nodeIndex]!
    if (this.fired.has(nodeIndex) && version !== null) this.fired.set(nodeIndex, { ...node, version })
    if (node.role === 'root' && outcome === 'cancelled') this.cancel(message ?? '')
  }

  /** The first of two cancels is recorded. */
  cancel(message: string): void {
    if (this.cancelMessage !== null) return
    this.cancelMessage = message
    this.cancels = this.run.graph.plan.nodes.keys().toArray()
  }

  /** Executions to be cancelled that may not have ended. */
  cancelIds(): string[] {
    const open = this.cancels.filter((nodeIndex) => !isNodeEnded(this.step.states[nodeIndex]!))
    return [...open.map((nodeIndex) => this.executionOf(nodeIndex)).filter((id) => id !== null), ...this.late]
  }

  /** If another transaction has just ended the row of a node, this step leaves it: its end will be noted. */
  leaveOut(locked: ReadonlySet<string>, statuses: ReadonlyMap<string, JobStatus>): void {
    const nodeIndexes = [...this.step.go, ...this.step.skip].filter(
      (nodeIndex) => !locked.has(this.executionOf(nodeIndex)!),
    )
    if (nodeIndexes.length === 0) return
    for (const nodeIndex of nodeIndexes) this.changes.set(nodeIndex, 'going')
    this.decide(statuses)
  }

  status(): RunStatus {
    if (this.isOver) return this.run.status
    return this.step.over ?? (this.cancelMessage === null ? 'RUNNING' : 'CANCELLING')
  }

  isChanged(): boolean {
    const { states, status } = this.run
    return (
      this.status() !== status || this.step.states.some((state, nodeIndex) => state !== states[nodeIndex])
    )
  }
}

export interface NoteRow {
  note_id: number
  run_id: string
  what: 'root' | 'end' | 'cancel'
  job_id: string
  execution_id: string
  message: string | null
  outcome: Outcome | null
  skip_reason: ExecutionSkipReason | null
  version: number | null
}
