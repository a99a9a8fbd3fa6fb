// Runs of graphs. Whoever ends an execution of a run only leaves a note; what comes of it is decided here, a run at a
// time, under the lock of the run: so each node goes once, and each run ends once.

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

/** What the loop asks of the store that takes runs further. */
export interface RunSteps {
  /**
   * Runs of which something happened that nobody has looked at, at most so many. Each tenant has an equal share of them,
   * and they take turns; of each tenant the run comes first that was noted first. The runs of a tenant that has more than
   * its share come round: a run waits for other runs, and never for all that was noted of them. With `unfired` also runs of which a root is still to fire: nobody notes that its slot was skipped. Never those of `except`.
   */
  findNoted(limit: number, unfired: boolean, except?: readonly string[]): Promise<string[]>
  /**
   * Locks the runs, makes those that have only just started, and takes each as far as it goes by what was noted. Runs that
   * others have locked are left out, and those that would be too much for one step: the first are taken first.
   */
  step(runIds: readonly string[], tools: RunTools): Promise<Stepped>
  /** Forgets runs that ended longer ago than the history of their tenant reaches. Returns how many. */
  prune(limit: number): Promise<number>
}

/** What new executions need. */
export interface RunTools {
  newExecutionId: () => string
  laneOf: (tenantId: string) => string
}

/** What came of it, for whoever is to be woken. */
export interface Stepped {
  /** Executions that became claimable. */
  ready: number
  /** Executions wait for others of their job, or what others wait for has ended. */
  waiting: boolean
  /** Running executions were cancelled. */
  cancelled: boolean
  /** Runs that ended, by how. */
  over: RunStatus[]
  /** Executions that were skipped, or cancelled before they ran. */
  settled: SettledAttempt[]
  /** Some were left to another step, because the others were enough for one. Absent: none. */
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
  /** Ends every execution of it that has not ended; those that run once they have stopped. Nothing of it goes any more. */
  cancel(target: { tenantId: string; runId: string; message: string }): Promise<CancelRunOutcome>
  /** New executions, of the present versions of their jobs, in place of those that did not succeed. */
  resume(order: { tenantId: string; runId: string } & RunTools): Promise<ResumeOutcome>
  /**
   * What executions run after, by execution; those that run alone or after nothing are not in it. Of one that others took
   * the place of it is what was there then. Results beyond `parentResultsMax` in all are left out. `runId`: the run of them all, which must be given for those that have ended.
   */
  parentsOf(executionIds: readonly string[], runId?: string): Promise<Map<string, ParentResult[]>>
}

/** Characters of the results that one execution is given. */
export const parentResultsMax = 1_048_576
/** Executions whose parents are asked for at once, so that all their results are bounded too. */
export const parentsPerLook = 50
/** A run is resumed so often at most. */
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
  /** Those that started it, or will. */
  roots: { jobId: string; name: string }[]
  resumes: number
  createdAt: EpochMs
  finishedAt: EpochMs | null
}

export interface RunView extends RunSummary {
  cancelMessage: string | null
  /** In the order of the plan: roots, then what they reach, then those outside. */
  plan: RunNodeView[]
  edges: RunEdge[]
}

export interface RunNodeView {
  jobId: string
  /** The present name. */
  jobName: string
  version: number
  role: NodeRole
  state: NodeState
  /** That of the execution while there is one, else of the state. */
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
  /** Executions that others took the place of, oldest first. */
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
}

export interface RunPage {
  runs: RunSummary[]
  /** What to ask for as `before` next; null: that was all. */
  next: string | null
}

export type CancelRunOutcome =
  /** Nothing of it was running: it has ended. */
  | { kind: 'cancelled'; settled: SettledAttempt[] }
  /** It had ended so already. */
  | { kind: 'cancelled_before' }
  /** Something was running, and is being stopped. */
  | { kind: 'cancelling'; settled: SettledAttempt[] }
  | { kind: 'finished'; status: RunStatus }
  | { kind: 'not_found' }

export type ResumeOutcome =
  | ({ kind: 'resumed'; executionIds: string[] } & Pick<Stepped, 'over' | 'settled'>)
  /** It has not ended. */
  | { kind: 'not_finished'; status: RunStatus }
  /** Every node has succeeded, or was skipped because of what others did. */
  | { kind: 'nothing' }
  /**
   * Of a root that does not allow overlaps something is under way: another run, or an execution that runs alone. Neither: it
   * has late slots that are still to run.
   */
  | { kind: 'overlap'; jobId: string; runId: string | null; executionId: string | null }
  | { kind: 'too_often' }
  | { kind: 'not_found' }

export interface ParentResult {
  jobId: string
  /** The present key of the job. */
  jobKey: string | null
  /** Null: nothing of it has ended. */
  executionId: string | null
  status: ExecutionStatus
  /** The first 4 KB of what its last attempt returned; null: nothing, or left out. */
  result: string | null
}
