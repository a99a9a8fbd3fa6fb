// The worker of `--handlers FILE`: the jobs that the user's file exports, run in this process.
import type { Config } from '../config/read.ts'
import { defaultTenantId } from '../domain/tenants/tenant.ts'
import type { WorkerAssignment } from './worker.ts'

/** As many as a worker of the SDK runs at once by default. */
const handlersCapacity = 50

export async function assignHandlers(
  { labels }: Pick<Config, 'labels'>,
  { file, api }: { file: string; api: { url: string; key: string } | null },
): Promise<WorkerAssignment> {
  // Here and nowhere else: the file is the user's code, and no other process must run it.
  const { loadHandlers, putHandlerJobs } = await import('../worker/executors/handlers.ts')
  const { names, executor, jobs } = await loadHandlers(file)
  if (api !== null) await putHandlerJobs(jobs, api)
  return {
    kind: 'handlers',
    capacity: handlersCapacity,
    tenantId: defaultTenantId,
    handlers: names,
    labels,
    executor,
  }
}
