// The workers of a page, for tests.
import type { WorkerView } from '../src/domain/queue/worker.ts'
import type { WorkerQuery, Workers } from '../src/ports/workers.ts'

export async function listWorkers(workers: Pick<Workers, 'page'>, query: WorkerQuery): Promise<WorkerView[]> {
  return (await workers.page(query)).workers
}
