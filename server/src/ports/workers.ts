// Workers as the API shows them: the registered ones, and for a while the ones that are gone.
import type { WorkerView } from '../domain/queue/worker.ts'

export interface Workers {
  /** The oldest registration first. */
  list(query: WorkerQuery): Promise<WorkerView[]>
  /** The same, as people see it: a page ends before the worker that would take it over `bytesMax`; it has at least one. */
  page(query: WorkerQuery & { bytesMax?: number }): Promise<WorkerPage>
  /** A registered worker. Null: there is none of this tenant under this id any more. */
  find(tenantId: string, workerId: string): Promise<RegisteredWorker | null>
  /** Of a tenant, or of all tenants and ours (null). */
  count(of: { tenantId: string | null }): Promise<WorkerCounts>
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
  /** Only ours; `tenantId` is null. Default false. */
  ours?: boolean
  /** Default: any. */
  status?: WorkerView['status']
  /** Ids behind this one; ids grow with the time of registration. */
  after?: string | null
  /** 1 to `workersPerTenantMax`. Default `workersPerPage`. */
  limit?: number
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
