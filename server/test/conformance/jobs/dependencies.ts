// Jobs that depend on others, as the suites make and look at them.
import assert from 'node:assert/strict'
import type { Dependency, DependencyRule } from '../../../src/domain/graphs/graph.ts'
import { type JobVersion, type JobView, noSchedule, partitionsCount } from '../../../src/domain/jobs/job.ts'
import { defaultTenantId as tenantId } from '../../../src/domain/tenants/tenant.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import type { StoreScenario } from '../stores.ts'
import { change, type Decision, edit, remove } from './changes.ts'
import { takeAllChanges } from './job-states.ts'

export type Named = Record<string, NewJob>

export const after = (jobs: readonly NewJob[], on: DependencyRule = 'success'): Dependency[] =>
  jobs.map(({ jobId }) => ({ jobId, on }))

/** A job that is not created yet, and runs after these. */
export async function draft(s: StoreScenario, parents: readonly NewJob[], changes: Partial<NewJob> = {}) {
  const { jobId: _id, ...like } = await s.createJob()
  const own = { jobId: s.ids.next(), slotAt: null, dependsOn: after(parents) }
  return { ...like, ...own, ...changes } satisfies NewJob
}

/** 'a b>a c>a,b': jobs of these names, c after a and b. */
export async function makeGraph(s: StoreScenario, text: string): Promise<Named> {
  const jobs: Named = {}
  for (const word of text.split(' ')) {
    const [name, parents] = word.split('>')
    const dependsOn = after((parents?.split(',') ?? []).map((parent) => jobs[parent]!))
    jobs[name!] = await s.createJob({
      name: name!,
      dependsOn,
      ...(dependsOn.length > 0 && { slotAt: null, schedule: noSchedule }),
    })
  }
  return jobs
}

/** Tries the change and returns its outcome. */
export function tryDepend(
  s: Pick<StoreScenario, 'jobs'>,
  { jobId }: NewJob,
  parents: readonly NewJob[],
  changes: Partial<JobVersion> = {},
) {
  const dependsOn = after(parents)
  return s.jobs.change({ tenantId, jobId, dependsOn }, edit({ ...changes, dependsOn }))
}

export async function depend(...given: Parameters<typeof tryDepend>): Promise<JobView> {
  const view = await tryDepend(...given)
  assert(typeof view === 'object' && 'status' in view, JSON.stringify(view))
  return view
}

export const tryDelete = (s: StoreScenario, { jobId }: NewJob) =>
  s.jobs.change({ tenantId, jobId, dependsOn: [] }, remove)

/** Which job each graph is named after; absent: it is in none. */
export async function graphsOf(s: StoreScenario, jobs: Named): Promise<Record<string, string>> {
  const names = new Map(Object.entries(jobs).map(([name, { jobId }]) => [jobId, name]))
  const graphs: Record<string, string> = {}
  for (const [name, job] of Object.entries(jobs)) {
    const look: Decision = ({ graphId }) => {
      if (graphId !== null) graphs[name] = names.get(graphId) ?? graphId
      return null
    }
    await change(s, job, look)
  }
  return graphs
}

/** The names of the jobs that schedulers are notified of. */
export async function takeNoted(s: StoreScenario): Promise<string[]> {
  const cursors = await takeAllChanges(s)
  const views = await Promise.all(cursors.map(({ jobId }) => s.jobs.get(tenantId, jobId)))
  return views.map((view) => view!.name).toSorted()
}

export function loadAll(s: StoreScenario) {
  const partitions = Array.from({ length: partitionsCount }, (_, id) => ({ partitionId: id, after: null }))
  return s.slots.load({ partitions, dueBefore: s.at(86_400), limit: 100 })
}

export const viewOf = async (s: StoreScenario, { jobId }: NewJob) => (await s.jobs.get(tenantId, jobId))!
