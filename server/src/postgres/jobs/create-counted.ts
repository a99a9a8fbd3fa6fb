// Creates of tenants with a limit on active jobs: the items of a tenant are committed together, under the lock of its
// count. Other tenants do not wait for that lock.
import type { CreateOutcome, NewJob } from '../../ports/jobs.ts'
import type { Queries, Transactions } from '../connection/database.ts'
import { addActiveJobs, lockRoom, refuseActiveJobs } from './active-jobs.ts'
import { noticeMs } from './job-row.ts'
import { insertJobs, selectDeletedTenants } from './jobs.sql.ts'

export interface CountedCreate {
  job: NewJob
  /** As an item of the statement. */
  text: string
  limit: number
}

/** Each tenant has a transaction of its own: one that fails concerns its own creates alone. */
export async function createCounted(
  database: Transactions,
  items: readonly CountedCreate[],
): Promise<(CreateOutcome | Promise<CreateOutcome>)[]> {
  const byTenant = Map.groupBy(items, ({ job }) => job.tenantId)
  const written = new Map<string, Promise<ReadonlyMap<CountedCreate, CreateOutcome>>>()
  for (const [tenantId, own] of byTenant)
    written.set(
      tenantId,
      database.transaction((queries) => createOfTenant(queries, tenantId, own)),
    )
  await Promise.allSettled(written.values())
  return items.map(async (item) => (await written.get(item.job.tenantId)!).get(item)!)
}

/** Why jobs were not inserted, by job: mostly none. */
export async function findRefusals(
  queries: Queries,
  jobs: readonly NewJob[],
  made: ReadonlySet<string>,
): Promise<Map<string, 'key_taken' | 'tenant_deleted'>> {
  const refused = jobs.filter(({ jobId }) => !made.has(jobId))
  if (refused.length === 0) return new Map()
  const tenantIds = [...new Set(refused.map(({ tenantId }) => tenantId))]
  const { rows } = await queries.query<{ tenant_id: string }>(selectDeletedTenants, [tenantIds])
  const deleted = new Set(rows.map((row) => row.tenant_id))
  return new Map(
    refused.map(({ jobId, tenantId }) => [jobId, deleted.has(tenantId) ? 'tenant_deleted' : 'key_taken']),
  )
}

async function createOfTenant(queries: Queries, tenantId: string, items: readonly CountedCreate[]) {
  const activeJobsMax = Math.min(...items.map(({ limit }) => limit))
  const outcomes = new Map<CountedCreate, CreateOutcome>()
  const counted = await lockRoom(queries, { tenantId, activeJobsMax })
  let made = 0
  let rest = items
  // A key that is taken leaves room for one more.
  while (rest.length > 0 && made < counted.room) {
    const some = rest.slice(0, counted.room - made)
    rest = rest.slice(some.length)
    const { rows } = await queries.query<{ job_id: string }>(insertJobs, [
      `[${some.map(({ text }) => text).join(',')}]`,
      noticeMs,
    ])
    const ids = new Set(rows.map((row) => row.job_id))
    const refusals = await findRefusals(
      queries,
      some.map(({ job }) => job),
      ids,
    )
    for (const item of some) outcomes.set(item, refusals.get(item.job.jobId) ?? 'created')
    made += rows.length
  }
  for (const item of rest) outcomes.set(item, refuseActiveJobs(counted.used + made))
  if (made > 0) await addActiveJobs(queries, tenantId, made)
  return outcomes
}
