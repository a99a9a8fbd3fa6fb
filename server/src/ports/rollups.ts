// Numbers for dashboards and jobs, folded from the record of attempts in bounded steps. A step is one transaction that
// also moves the mark of its source, so every record is counted once: a process that dies within a step has folded
// nothing, and of two processes that fold the same source at once one finds nothing to do.
import type { ExecutionStatus } from '../domain/queue/execution.ts'

/** `tenant`, `job` and `health` read attempts, `skip` reads ranges of skipped slots. */
export const ROLLUP_SOURCES = ['tenant', 'job', 'skip', 'health'] as const
export type RollupSource = (typeof ROLLUP_SOURCES)[number]

/** A store may count from its records at the time of reading: then it has nothing to fold, and nothing to prune. */
export interface Rollups {
  /** One step of a source. Null: another process folds it right now, or its span is still shorter than `leastMs`. */
  fold(source: RollupSource, order: FoldOrder): Promise<Folded | null>
  /** Adds a sixteenth of the jobs, with their last hour that is over, to their days. */
  foldDays(): Promise<'more' | 'idle'>
  /** One step of the statistics of jobs, of at most `spanMs`. Null: nothing to fold, or another process folds it. */
  foldStats(spanMs: number): Promise<FoldedStats | null>
  /** Deletes numbers that are older than any reader asks for; some rows of each kind. */
  prune(): Promise<'more' | 'idle'>
  /** How the job went, over the history that is kept. Null: there is no such job. */
  stats(tenantId: string, jobId: string): Promise<JobStats | null>
}

export interface FoldOrder {
  /** The longest span of the record in this step. */
  spanMs: number
  /** A span shorter than this, and than `spanMs`, is left for later. */
  leastMs: number
  /** A span without a record moves the mark only when it is this long: an idle server writes nothing. */
  idleMs: number
  /** How far the fold stays behind the clock, besides transactions that are still open. */
  lagMs: number
}

export interface Folded {
  /** Records in the span. */
  recorded: number
  spanMs: number
}

export interface FoldedStats {
  /** Executions in the span that had ended. */
  ended: number
  /** The span was as long as allowed: there may be more to fold. */
  isFull: boolean
}

/** Executions that ended; cancelled ones are not counted. */
export interface JobStats {
  succeeded: number
  failed: number
  timedOut: number
  /** Mean over the last attempts; null: none is known. */
  averageDurationMs: number | null
  /** Status of the latest ended execution, cancelled ones included. */
  lastStatus: ExecutionStatus | null
}
