// The rules of a kind of executor, without any of its work: routes, processes, validation, and the answers of `why`.
import type { AnyExecution } from '../jobs/job.ts'
import type { Worker } from '../queue/worker.ts'

export interface ExecutorKind<Own extends AnyExecution> {
  /** The route of all its executions. Absent: `routeOf` makes it from the job, with the kind as the first word. */
  route?: string
  routeOf?(execution: Own, tenantId: string): string
  /** It may kill the process that runs it. Such kinds have a process of their own, and suspects run one at a time. */
  isolates: boolean
  /** An attempt is given the results of its parents. Default: its target asks for them over the API. */
  isGivenParents?: true
  /** Why no worker that is alive may claim it. */
  nobodyText(execution: Own): string
  /** Whether the operator lets the workers of this server run it. Default: yes. */
  isAllowed?(settings: ExecutorSettings): boolean
  /** Whether a worker with this executor may claim it. Default: every worker of ours may. */
  canRun?(worker: RunningWorker, call: { execution: Own; tenantId: string }): boolean
  /** Why it takes no payload; null: it takes one. Default: null. */
  refusePayload?(execution: Own): string | null
  /** The first wrong field, in a call that fits the schema. */
  check?(execution: Own): WrongField | null
  /** The form in which it is stored. */
  normalize?(execution: Own): Own
}

export type RunningWorker = Pick<Worker, 'tenantId' | 'executors' | 'handlers' | 'labels'>

/** The settings of a server that executors read. */
export interface ExecutorSettings {
  dataDir: string
  shellCommands: readonly string[]
  artifacts: boolean
  artifactsDir: string | null
  artifactCpuSeconds: number
  artifactMemoryMb: number
}

export interface WrongField {
  /** From the execution on. */
  path: readonly string[]
  detail: string
  /** The detail has its own subject. Otherwise the field is its subject. */
  isSentence?: true
}
