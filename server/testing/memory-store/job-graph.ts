// The dependencies between jobs, in memory: they are stored in the present versions of the jobs.
import type { GraphPart } from '../../src/domain/graphs/graph.ts'
import type { GraphWrite } from '../../src/domain/graphs/graph-change.ts'
import { noteDue } from './note-due.ts'
import type { JobRow } from './rows.ts'
import type { MemoryStore } from './store.ts'

/** The graphs of these jobs of a tenant; a job that is in none is there alone. */
export function partOf(
  { jobs }: MemoryStore,
  { tenantId, jobIds }: { tenantId: string; jobIds: readonly string[] },
): GraphPart {
  const wanted = new Set(jobIds)
  const all = [...jobs.values()].filter((job) => job.tenantId === tenantId)
  const graphIds = new Set(all.filter(({ jobId }) => wanted.has(jobId)).map(({ cursor }) => cursor.graphId))
  graphIds.delete(null)
  const members = all.filter(({ jobId, cursor }) => wanted.has(jobId) || graphIds.has(cursor.graphId))
  return {
    jobs: members.map((job) => ({
      jobId: job.jobId,
      name: presentOf(job).name,
      status: job.cursor.status,
      graphId: job.cursor.graphId,
    })),
    edges: members.flatMap((job) => {
      const dependsOn = job.cursor.depends ? presentOf(job).dependsOn : []
      return dependsOn.map(({ jobId: parentId, on }) => ({ parentId, childId: job.jobId, on }))
    }),
  }
}

/** After the job itself is written. */
export function writeGraph(store: MemoryStore, { jobId, dependsOn, graphIds }: GraphWrite): void {
  for (const [memberId, graphId] of graphIds) {
    const { cursor } = store.jobs.get(memberId)!
    store.changeCursor(cursor, { graphId, ...(memberId === jobId && { depends: dependsOn.length > 0 }) })
    noteDue(store, cursor)
  }
}

function presentOf({ versions, version }: JobRow) {
  return versions.get(version)!
}
