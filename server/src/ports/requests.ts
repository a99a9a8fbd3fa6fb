// One request, one effect: the effect of a request and the answer to it are written together, so that a client that
// did not hear the answer can ask again.
import type { DirectDispatch } from './direct-dispatch.ts'
import type { StorePorts } from './store.ts'

/** The stores that a request may write to. */
export interface WriteStores
  extends Pick<
    StorePorts,
    | 'jobs'
    | 'control'
    | 'deadLetters'
    | 'tenants'
    | 'tiers'
    | 'tenantRoom'
    | 'apiKeys'
    | 'calendars'
    | 'artifacts'
    | 'graphRuns'
    | 'workers'
  > {
  operations: Omit<StorePorts['operations'], 'step'>
  tenantEnds: Omit<StorePorts['tenantEnds'], 'step'>
  /** Claims triggered executions on insert. Absent: no worker does, or writes by these stores may still be undone. */
  direct?: DirectDispatch
}

export interface Requests {
  /**
   * Without key and dry run: calls `work` with the stores as they are. With a key: once. In a dry run: everything
   * happens, and is undone. An error thrown by `work` is rethrown, and nothing of it remains.
   */
  run<T>(request: RequestTerms, work: (stores: WriteStores) => Promise<Done<T>>): Promise<RunOutcome<T>>
  /** Forgets answers older than a day. Returns how many. */
  prune(limit: number): Promise<number>
}

export interface RequestTerms {
  once: Once | null
  dryRun: boolean
  /**
   * May share a transaction with others of its kind that come at the same moment: its work creates or triggers and does
   * nothing else. Which job it triggers: these jobs are locked together, before any work; and how often: default once.
   */
  gather?: { jobId: string | null; executions?: number }
}

export interface Once {
  tenantId: string
  key: string
  /** Hash of method, path, query and body: a different request with this key is a mistake. */
  fingerprint: Uint8Array
}

export interface Reply {
  status: number
  headers: Readonly<Record<string, string>>
  /** JSON text. */
  body: string
}

export interface Done<T> {
  value: T
  /** The answer to a repetition; null: nothing was done, and the key stays free. */
  reply: Reply | null
}

export type RunOutcome<T> =
  | { kind: 'done'; value: T }
  | { kind: 'repeated'; reply: Reply }
  | { kind: 'in_flight' }
  | { kind: 'other_request' }
