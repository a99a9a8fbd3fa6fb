import { jobHealthFields } from '@carillon/contract/job-health.ts'

/** A job of GET or of a list, without the fields that the answer to a change does not have: statistics and health. */
export function withoutHealth(shown: Record<string, unknown>): Record<string, unknown> {
  const left = new Set(['stats', ...Object.keys(jobHealthFields)])
  return Object.fromEntries(Object.entries(shown).filter(([name]) => !left.has(name)))
}
