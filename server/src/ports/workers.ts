// Workers as the API shows them.
import type { WorkerView } from '../domain/queue/worker.ts'

export interface Workers {
  /** Oldest registration first, at most `workersMax`; for a tenant, or for all and ours. */
  list(of: { tenantId: string | null }): Promise<WorkerView[]>
  /** Null: there is none of this tenant under this id any more. */
  find(tenantId: string, workerId: string): Promise<WorkerView | null>
}
