// The usage of a limit in words and numbers.
import type { Usage } from '@carillon/contract/tenant.ts'
import { formatBytes, formatCount, formatShare } from '../../lib/format.ts'

const names: Record<Usage['name'], string> = {
  executions_per_minute: 'Executions a minute',
  concurrent_executions_max: 'Running executions',
  active_jobs_max: 'Active jobs',
  waiting_executions_max: 'Waiting executions',
  storage_bytes_max: 'Storage',
}

export function nameOfLimit(name: Usage['name']): string {
  return names[name]
}

export function formatUsed(name: Usage['name'], value: number, capped = false): string {
  return name.includes('_bytes_') ? formatBytes(value) : formatCount(value, capped)
}

/** Null: there is no limit. */
export function shareOf({ name, limit, used }: Pick<Usage, 'name' | 'limit' | 'used'>): number | null {
  if (limit === null || limit === 0) return null
  // Two minutes' worth may come at once.
  return name === 'executions_per_minute' ? used / (2 * limit) : used / limit
}

export function stateOf(usage: Pick<Usage, 'name' | 'limit' | 'used'>): string {
  const share = shareOf(usage)
  return share === null ? 'fine' : `${formatShare(share)} used`
}
