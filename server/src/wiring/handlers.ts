// The worker of `--handlers FILE`: the jobs that the user's file exports, run in this process.
import type { Config } from '../config/read.ts'
import { defaultTenantId } from '../domain/tenants/tenant.ts'
import type { WorkerAssignment } from './worker.ts'

/** Handlers at once: the default of an SDK worker. */
const handlersCapacity = 50

export async function assignHandlers(
  { labels }: Pick<Config, 'labels'>,
  { file, api }: { file: string; api: { url: string; key: string } | null },
): Promise<WorkerAssignment> {
  // Imported only here: the user's file runs in this process and in no other.
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
