// The usage of a limit in words and numbers.
import type { Usage } from '@carillon/contract/tenant.ts'
import { formatBytes, formatCount, formatShare } from '../../lib/format.ts'

const names: Record<Usage['name'], string> = {
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
export function shareOf({ limit, used }: Pick<Usage, 'limit' | 'used'>): number | null {
  return limit === null || limit === 0 ? null : used / limit
}

export function stateOf(usage: Pick<Usage, 'limit' | 'used'>): string {
  const share = shareOf(usage)
  return share === null ? 'fine' : `${formatShare(share)} used`
}
