// Another person changed the job meanwhile: the changes made here are applied on top of the current version.
import type { JobRequest } from '@carillon/contract/job.ts'
import { mergePatch } from '../job/diff.ts'

export function rebase(base: JobRequest, newest: JobRequest, mine: JobRequest): JobRequest {
  const patch = mergePatch(base, mine)
  return patch === undefined ? newest : (applyPatch(newest, patch) as JobRequest)
}

/** RFC 7396. */
function applyPatch(value: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch
  const target: Record<string, unknown> =
    typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
  for (const [name, part] of Object.entries(patch)) {
    if (part === null) delete target[name]
    else target[name] = applyPatch(target[name], part)
  }
  return target
}
