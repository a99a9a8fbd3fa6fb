// Prunes the versions of jobs in memory: as PostgreSQL does, but all jobs at once.
import { lighten, versionsAnEdit, versionsKeptMax } from '../../src/domain/jobs/kept-versions.ts'
import type { EpochMs } from '../../src/lib/time/epoch.ts'
import type { JobRow } from './rows.ts'
import type { MemoryStore } from './store.ts'

export function pruneAllVersions(store: MemoryStore, graceMs: number): void {
  for (const job of store.jobs.values()) {
    if (job.versions.size > 1 || job.deletedAt !== null) pruneVersions(store, job, { graceMs })
  }
}

/** After an edit. Of a job in a graph, a run that starts may be about to name an earlier version. */
export function pruneEdited(store: MemoryStore, job: JobRow): void {
  const { version, cursor } = job
  if (version % versionsAnEdit !== 0 || cursor.graphId !== null) return
  for (const last of [version - 1, version - versionsKeptMax]) {
    pruneVersions(store, job, { graceMs: 0, after: last - versionsAnEdit, last })
  }
}

function pruneVersions(
  store: MemoryStore,
  job: JobRow,
  { graceMs, after = 0, last = job.version }: { graceMs: number; after?: number; last?: number },
): void {
  const now = store.now()
  const since = store.retainedFrom()
  const named = new Set([
    ...[...job.live, ...job.batched.keys()].map(({ version }) => version),
    ...[...job.ended]
      .flatMap((id) => store.log.of(id))
      .flatMap((row) => (row.recordedAt < since ? [] : row.version)),
  ])
  const skipped = new Set(job.skips.map(({ version }) => version))
  const numbers = [...job.versions.keys()]
  for (const [at, version] of numbers.entries()) {
    if (version <= after || version > last || named.has(version)) continue
    if (version === job.version) {
      if (job.deletedAt !== null && job.deletedAt < since) dropParts(job, version, now)
      continue
    }
    const replacedAt = job.made.get(numbers[at + 1]!)!.at
    if (replacedAt > now - graceMs) continue
    const mayEnd = replacedAt < since || version <= job.version - versionsKeptMax
    if (mayEnd && !skipped.has(version)) job.versions.delete(version)
    else dropParts(job, version, now)
  }
}

function dropParts({ versions, pruned }: JobRow, version: number, now: EpochMs): void {
  if (pruned.has(version)) return
  versions.set(version, lighten(versions.get(version)!))
  pruned.set(version, now)
}
