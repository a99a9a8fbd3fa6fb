// Workers as the API shows them: the registered ones, and for a while the ones that are gone.
import type { WantedRunner } from '../domain/executors/kind.ts'
import type { WorkerView } from '../domain/queue/worker.ts'

export interface Workers {
  /**
   * The oldest registration first. A page ends before the worker that would take it over `bytesMax`; it has at least one.
   */
  page(query: WorkerQuery): Promise<WorkerPage>
  /** A registered worker. Null: there is none of this tenant under this id any more. */
  find(tenantId: string, workerId: string): Promise<RegisteredWorker | null>
  /** Of a tenant, or of all tenants and ours (null). */
  count(of: { tenantId: string | null }): Promise<WorkerCounts>
  /** The workers that may claim an execution, in numbers: a tenant may have thousands with long lists of handlers. */
  runners(wanted: WantedRunner): Promise<Runners>
  /** Whether there is one. `orShown`: one that drains, is silent, or is gone and still shown is enough. */
  hasRunner(wanted: WantedRunner, options?: { orShown?: boolean }): Promise<boolean>
  /** Executions of each tenant that these workers run, without the ones claimed within the last moments. */
  countHeld(workerIds: readonly string[]): Promise<HeldOfTenant[]>
  /** Forgets workers that are gone and were shown for long enough; returns how many. */
  prune(limit: number): Promise<number>
}

export interface WorkerPage {
  workers: WorkerView[]
  /** Whether there are workers behind the page. */
  more: boolean
}

export interface Runners {
  count: number
  /** Whether one of them holds fewer executions than its capacity. */
  hasRoom: boolean
  /** Ours among them, the oldest first, at most `ownRunnersMax`. */
  own: { workerId: string; capacity: number }[]
}

export const ownRunnersMax = 50

export interface HeldOfTenant {
  workerId: string
  tenantId: string
  held: number
  /** The ones that began more than `longMs` ago. */
  long: number
}

/** Without its load, which must be counted. */
export type RegisteredWorker = Omit<WorkerView, 'currentLoad' | 'endedAt'>

export interface WorkerQuery {
  /** Null: of all tenants, and ours. */
  tenantId: string | null
  /** Default: any. */
  status?: WorkerView['status']
  /** Ids behind this one; ids grow with the time of registration. */
  after?: string | null
  /** At least 1. Default `workersPerPage`. */
  limit?: number
  /** Default `pageItemsBytesMax`. */
  bytesMax?: number
}

export const workersPerPage = 1_000

export interface WorkerCounts {
  active: number
  draining: number
  /** Registered and silent for longer than their lease: about to be declared dead. */
  silent: number
  /** Declared dead within the last hour, at most `formerWorkersMax` a tenant. */
  deadLastHour: number
  /** Of active and draining workers. */
  capacity: number
  /** Executions that they hold. */
  running: number
}
