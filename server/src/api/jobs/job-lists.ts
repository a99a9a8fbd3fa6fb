// The orders in which jobs are listed: by age, or by health. A cursor of one order is refused in another.
import type { JobListQuery } from '@carillon/contract/job.ts'
import type { HealthOrder, HealthPlace } from '../../ports/job-health.ts'
import type { ListedJob, Total } from '../../ports/jobs.ts'
import type { StorePorts } from '../../ports/store.ts'
import { limitOf, offsetOf, readIdCursor, readPlaceCursor } from '../http/cursor.ts'
import { contentOf } from '../http/page-content.ts'
import { refuseField } from '../http/problem.ts'
import { toJobFilter } from './job-filter.ts'

type JobListName = 'jobs' | 'jobs_failing_first' | 'jobs_failing' | 'jobs_flaky'

export interface FoundJobs {
  list: JobListName
  page: { jobs: ListedJob[]; next: string | null }
  total: Total
}

export function listOf({ health, sort }: JobListQuery): JobListName {
  if (health !== undefined) return health === 'FAILING' ? 'jobs_failing' : 'jobs_flaky'
  return sort === 'failing_first' ? 'jobs_failing_first' : 'jobs'
}

export async function byAge(
  { jobs }: Pick<StorePorts, 'jobs'>,
  tenantId: string,
  query: JobListQuery,
): Promise<FoundJobs> {
  const offset = offsetOf(query)
  const before = readIdCursor('jobs', query)
  const filter = toJobFilter(query)
  const [page, total] = await Promise.all([
    jobs.list({ tenantId, filter, before, offset, limit: limitOf(query), ...contentOf(query) }),
    jobs.count(tenantId, filter),
  ])
  return { list: 'jobs', page, total }
}

export async function byHealth(
  { jobs, jobHealth }: Pick<StorePorts, 'jobs' | 'jobHealth'>,
  tenantId: string,
  query: JobListQuery,
): Promise<FoundJobs> {
  const { page: number, health, sort } = query
  const named = health === undefined ? 'sort' : 'health'
  if (number !== undefined)
    throw refuseField('page', `cannot be given together with ${named}: follow next_cursor`)
  if (health !== undefined && sort === 'newest')
    throw refuseField('sort', 'cannot be newest together with health: the latest trouble comes first')
  const list = listOf(query)
  const after = readPlaceCursor(list, query)
  const filter = toJobFilter(query)
  const order = orders[list as keyof typeof orders]
  const [page, total] = await Promise.all([
    jobHealth.list({ tenantId, filter, order, after, limit: limitOf(query), ...contentOf(query) }),
    order === 'failing_first' ? jobs.count(tenantId, filter) : jobHealth.count(tenantId, filter, order),
  ])
  return { list, page: { jobs: page.jobs, next: page.next === null ? null : textOf(page.next) }, total }
}

const orders: Record<Exclude<JobListName, 'jobs'>, HealthOrder> = {
  jobs_failing_first: 'failing_first',
  jobs_failing: 'failing',
  jobs_flaky: 'flaky',
}

/** As `readPlaceCursor` reads it. */
function textOf({ at, jobId }: HealthPlace): string {
  return `${at ?? ''} ${jobId}`
}
