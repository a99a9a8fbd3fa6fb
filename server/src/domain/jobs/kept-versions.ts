// How long the versions of a job are kept. A version that no execution names loses the parts that only an execution
// reads; its schedule and policies stay for the retention of the tenant. See docs/internals/schema.md.
import type { Execution, JobVersion } from './job.ts'

/**
 * A version is left alone for this long after the next one was made: a graph run that starts reads the versions of its
 * jobs some statements before it names them, each of which may take seconds.
 */
export const versionGraceMs = 120_000
/** An edit that makes a version with a multiple of this number looks at the ones before. */
export const versionsAnEdit = 1_000
/** Versions of a job that are older than this many are not kept for the retention if nothing names them. */
export const versionsKeptMax = 10_000

/** The parts of an execution that only an attempt needs. */
export const PRUNED_FIELDS = ['payload', 'headers', 'args', 'env'] as const

/** The version without the parts that only an execution reads. */
export function lighten(version: JobVersion): JobVersion {
  const execution = Object.fromEntries(
    Object.entries(version.execution).filter(
      ([name]) => !(PRUNED_FIELDS as readonly string[]).includes(name),
    ),
  ) as unknown as Execution
  return { ...version, description: null, metadata: {}, execution }
}
