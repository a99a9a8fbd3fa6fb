// The rules of a kind of executor, without any of its work: routes, processes, validation, and the answers of `why`.
import type { AnyExecution, Executor } from '../jobs/job.ts'

export interface ExecutorKind<Own extends AnyExecution> {
  /** The route of all executions of this kind. Absent: `routeOf` makes it from the job, with the kind as its first word. */
  route?: string
  routeOf?(execution: Own, tenantId: string): string
  /** An attempt may kill the process that runs it, so this kind runs in a separate process, and its suspects one at a time. */
  isolates: boolean
  /** An attempt is given the results of its parents. Default: its target asks for them over the API. */
  isGivenParents?: true
  /** The sentence of `why` when no live worker may claim the execution. Begins with `no worker`. */
  nobodyText(execution: Own): string
  /** Whether the operator lets the workers of this server run it. Default: yes. */
  isAllowed?(settings: ExecutorSettings): boolean
  /** The workers that may claim the execution, of the ones with this executor. Default: each of our own. */
  runnersOf?(execution: Own, tenantId: string): Omit<WantedRunner, 'executor'>
  /** Why the execution cannot have a payload; null: it can. Default: null. */
  refusePayload?(execution: Own): string | null
  /** The first wrong field, in a call that fits the schema. */
  check?(execution: Own): WrongField | null
  /** The form in which it is stored. */
  normalize?(execution: Own): Own
}

/** The workers that may claim an execution: active ones of ours, or of the tenant. */
export interface WantedRunner {
  executor: Executor
  /** Whose workers may, beside ours; null: only ours. */
  tenantId: string | null
  /** Null: it needs none. */
  handler: string | null
  /** A worker must have all of them. */
  labels: readonly string[]
}

/** A program that shell jobs may run, and the variables that they may set for it. */
export interface ShellCommand {
  /** An absolute path. */
  path: string
  env: readonly string[]
}

/** The settings of a server that executors read. */
export interface ExecutorSettings {
  dataDir: string
  shellCommands: readonly ShellCommand[]
  artifacts: boolean
  artifactsDir: string | null
  artifactCpuSeconds: number
  artifactMemoryMb: number
}

export interface WrongField {
  /** The path of the field, from `execution` on. */
  path: readonly string[]
  detail: string
  /** The detail has its own subject. Otherwise the field is its subject. */
  isSentence?: true
}
