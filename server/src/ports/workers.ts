// Workers as the API shows them.
import type { WorkerView } from '../domain/worker.ts'

export interface Workers {
  /** Oldest registration first, at most `workersMax`. */
  list(): Promise<WorkerView[]>
}
