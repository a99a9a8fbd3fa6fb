// Graph runs. The end of an execution of a run only leaves a note; its consequences are decided here, a run at a time,
// under the lock of the run, so that each node is released once and each run ends once.

import type { Edge } from '../domain/graphs/graph.ts'
import type {
  MemberJob,
  NodeRole,
  NodeState,
  RunEdge,
  RunKind,
  RunStatus,
} from '../domain/graphs/graph-run.ts'
import type { RunCounts } from '../domain/graphs/run-counts.ts'
import type { SettledAttempt } from '../domain/queue/attempt.ts'
import type { ExecutionStatus } from '../domain/queue/execution.ts'
import type { EpochMs } from '../lib/time/epoch.ts'

/** The store operations of the loop that advances runs. */
export interface RunSteps {
  /**
   * Runs with unprocessed notes, at most `limit`. Each tenant has an equal share of them, and tenants take turns;
   * within a tenant the run noted first comes first. The runs of a tenant that has more than its share come round: a
   * run waits for other runs, and never for all of their notes. With `unfired` also runs with a root still to fire:
   * nothing notes that its slot was skipped. Never the runs in `except`.
   */
  findNoted(limit: number, unfired: boolean, except?: readonly string[]): Promise<string[]>
  /**
   * Locks the runs, makes the ones that have only just started, and advances each as far as its notes allow. Runs
   * locked by others are left out, and runs that would be too much for one step: the first are taken first.
   */
  step(runIds: readonly string[], tools: RunTools): Promise<Stepped>
  /** Prunes runs that ended before the history retention of their tenant. Returns their number. */
  prune(limit: number): Promise<number>
}

/** The tools needed to make new executions. */
export interface RunTools {
  newExecutionId: () => string
  laneOf: (tenantId: string) => string
}

/** The result of a step, for the loops to wake. */
export interface Stepped {
  /** Executions that became claimable. */
  ready: number
  /** Executions wait for others of their job, or an execution that others wait for has ended. */
  waiting: boolean
  /** Running executions were cancelled. */
  cancelled: boolean
  /** Final statuses of the runs that ended. */
  over: RunStatus[]
  /** Executions that were skipped, or cancelled before they ran. */
  settled: SettledAttempt[]
  /** Some runs were left for another step, because this one was full. Absent: none. */
  left?: true
}

/** Runs as the API reads, stops and repeats them. */
export interface GraphRuns {
  /** All jobs that depend on each other, through this one; only the job itself: it is in no graph. Null: no such job. */
  graphOf(tenantId: string, jobId: string): Promise<Graph | null>
  get(tenantId: string, runId: string): Promise<RunView | null>
  /** Whether a root of it is enqueued, and the run itself is still to be made. */
  isStarting(tenantId: string, runId: string): Promise<boolean>
  /** Newest first, by scheduled time. */
  list(query: RunQuery): Promise<RunPage>
  /**
   * Ends every execution of the run that has not ended; running ones once they have stopped. No further node is released.
   */
  cancel(target: { tenantId: string; runId: string; message: string }): Promise<CancelRunOutcome>
  /** New executions, of the present versions of their jobs, in place of the ones that did not succeed. */
  resume(order: { tenantId: string; runId: string } & RunTools): Promise<ResumeOutcome>
  /**
   * The parents of executions, by execution; an execution that runs alone or after nothing is not in it. A replaced
   * execution has the parents of its time. Results beyond `parentResultsMax` in all are left out. `runId`: the run of
   * them all, which must be given for ended executions.
   */
  parentsOf(executionIds: readonly string[], runId?: string): Promise<Map<string, ParentResult[]>>
}

/** Characters of the results that one execution is given. */
export const parentResultsMax = 1_048_576
/** Executions per query for parents, so that all their results are bounded too. */
export const parentsPerLook = 50
/** Maximum number of resumes of a run. */
export const resumesMax = 100

export interface Graph {
  jobs: MemberJob[]
  edges: Edge[]
}

export interface RunSummary extends RunCounts {
  runId: string
  kind: RunKind
  status: RunStatus
  slot: EpochMs
  /** The jobs that started it, or will. */
  roots: { jobId: string; name: string }[]
  resumes: number
  createdAt: EpochMs
  finishedAt: EpochMs | null
}

export interface RunView extends RunSummary {
  cancelMessage: string | null
  /** In the order of the plan: roots, then the jobs they reach, then the jobs outside. */
  plan: RunNodeView[]
  edges: RunEdge[]
}

export interface RunNodeView {
  jobId: string
  /** The current name of the job. */
  jobName: string
  version: number
  role: NodeRole
  state: NodeState
  /** Status of its execution while there is one, else derived from the state of the node. */
  status: ExecutionStatus
  executionId: string | null
  attempt: number
  enqueuedAt: EpochMs | null
  startedAt: EpochMs | null
  finishedAt: EpochMs | null
  durationMs: number | null
  error: { type: string; message: string } | null
  /** Why its execution was skipped, in a sentence; null: it was not, or has none. */
  skipMessage: string | null
  /** Executions that were replaced by a resume, oldest first. */
  replaced: string[]
}

export interface RunQuery {
  tenantId: string
  status: RunStatus | null
  /** Runs in which this job is a node. */
  jobId: string | null
  /** Bounds of the slot: from included, to not. */
  from: EpochMs | null
  to: EpochMs | null
  /** Only run ids below this one. */
  before: string | null
  limit: number
  /** The page ends before the run that would take it over so many bytes; it has at least one. Default: as any list. */
  bytesMax?: number
}

export interface RunPage {
  runs: RunSummary[]
  /** The next value for `before`; null: that was all. */
  next: string | null
}

export type CancelRunOutcome =
  /** Nothing of it was running: it has ended. */
  | { kind: 'cancelled'; settled: SettledAttempt[] }
  /** It was already cancelled. */
  | { kind: 'cancelled_before' }
  /** Something was running, and is being stopped. */
  | { kind: 'cancelling'; settled: SettledAttempt[] }
  | { kind: 'finished'; status: RunStatus }
  | { kind: 'not_found' }

export type ResumeOutcome =
  | ({ kind: 'resumed'; executionIds: string[] } & Pick<Stepped, 'over' | 'settled'>)
  /** It has not ended. */
  | { kind: 'not_finished'; status: RunStatus }
  /** Every node has succeeded, or was skipped because of other nodes. */
  | { kind: 'nothing' }
  /**
   * A root that does not allow overlaps is busy: with another run, or with an execution that runs alone. Neither: it has
   * late slots that still have to run.
   */
  | { kind: 'overlap'; jobId: string; runId: string | null; executionId: string | null }
  | { kind: 'too_often' }
  | { kind: 'not_found' }

export interface ParentResult {
  jobId: string
  /** The current key of the job. */
  jobKey: string | null
  /** Null: no execution of it has ended. */
  executionId: string | null
  status: ExecutionStatus
  /** The first 4 KB of its last attempt's result; null: nothing, or left out. */
  result: string | null
}
