// Deletes the rows of a tenant in memory: first all that hangs on no job, then its jobs, some at a time.
import type { Purged } from '../../src/ports/tenant-ends.ts'
import type { JobRow } from './rows.ts'
import type { MemoryStore } from './store.ts'
import type { TenantTables } from './tenant-ends.ts'

const jobsMax = 50

/** `operationId`: of the purge, which shows its progress to the end. */
export function purgeSome(
  store: MemoryStore,
  { apiKeys, artifacts }: Omit<TenantTables, 'tenants'>,
  { tenantId, operationId }: { tenantId: string; operationId: string },
): Purged | 'under_way' {
  const jobs = [...store.jobs.values().filter((job) => job.tenantId === tenantId)].slice(0, jobsMax)
  if (jobs.some(({ live, batched }) => live.size > 0 || batched.size > 0)) return 'under_way'
  apiKeys.purge(tenantId)
  artifacts.purge(tenantId)
  const isKeyOf = (key: string) => key.startsWith(`${tenantId} `)
  let rows = deleteWhere(store.deadLetters, (row) => row.tenantId === tenantId)
  rows += deleteWhere(store.graphRuns, ({ tenantId: owner, runId }) => {
    if (owner === tenantId) store.unfiredRuns.delete(runId)
    return owner === tenantId
  })
  rows += deleteWhere(store.formerWorkers, (row) => row.tenantId === tenantId)
  rows += deleteWhere(store.operations, ({ operation }) => {
    return operation.tenantId === tenantId && operation.operationId !== operationId
  })
  rows += deleteWhere(store.calendars, (_, key) => isKeyOf(key))
  rows += deleteWhere(store.requests, (_, key) => isKeyOf(key))
  for (const job of jobs) rows += 1 + purgeJob(store, job)
  return { rows, jobs: jobs.length }
}

function purgeJob(store: MemoryStore, job: JobRow): number {
  const { jobId, cursor, ended } = job
  for (const executionId of ended) {
    store.log.drop(executionId)
    store.logs.delete(executionId)
  }
  for (const [runId, notes] of store.runNotes) {
    const others = notes.filter((note) => note.jobId !== jobId)
    if (others.length > 0) store.runNotes.set(runId, others)
    else store.runNotes.delete(runId)
  }
  store.changeCursor(cursor, { status: 'DELETED', slotAt: null, dueAt: null })
  store.setOwed(job, null)
  store.waitingJobs.delete(jobId)
  store.runRoots.delete(jobId)
  store.changes[cursor.partitionId]!.delete(jobId)
  store.jobs.delete(jobId)
  return ended.size
}

function deleteWhere<Row>(rows: Map<string, Row>, isGone: (row: Row, key: string) => boolean): number {
  let count = 0
  for (const [key, row] of rows) {
    if (!isGone(row, key)) continue
    rows.delete(key)
    count += 1
  }
  return count
}
