// The form of a tier: a text for each limit; an empty one stands for no limit.
import type { Tier, TierChanged, TierRequest } from '@carillon/contract/tenant.ts'
import { formatBytes, formatCount, plural } from '../../lib/format.ts'

interface LimitField {
  name: Exclude<keyof TierRequest, 'dead_letters'>
  label: string
  min: number
  max: number
  /** It may be empty. */
  isOptional?: boolean
}

export const limitFields: readonly LimitField[] = [
  { name: 'active_jobs_max', label: 'Active jobs', min: 1, max: 1_000_000_000, isOptional: true },
  {
    name: 'executions_per_minute',
    label: 'Executions a minute',
    min: 1,
    max: 10_000_000,
    isOptional: true,
  },
  {
    name: 'concurrent_executions_max',
    label: 'Executions at once',
    min: 1,
    max: 1_000_000,
    isOptional: true,
  },
  {
    name: 'waiting_executions_max',
    label: 'Waiting executions',
    min: 1,
    max: 100_000_000,
    isOptional: true,
  },
  {
    name: 'storage_bytes_max',
    label: 'Storage (bytes)',
    min: 1,
    max: 1_000_000_000_000_000,
    isOptional: true,
  },
  { name: 'requests_per_second', label: 'Requests a second', min: 1, max: 1_000_000, isOptional: true },
  {
    name: 'host_calls_per_second',
    label: 'Calls to a host a second',
    min: 1,
    max: 1_000_000,
    isOptional: true,
  },
  { name: 'timeout_seconds_max', label: 'Longest timeout (s)', min: 1, max: 604_800, isOptional: true },
  { name: 'interval_seconds_min', label: 'Shortest interval (s)', min: 1, max: 31_536_000 },
  { name: 'payload_bytes_max', label: 'Payload (bytes)', min: 1, max: 262_144 },
  { name: 'retries_max', label: 'Retries', min: 0, max: 100 },
  { name: 'priority_best', label: 'Best priority', min: 1, max: 10 },
  { name: 'history_days', label: 'History (days)', min: 1, max: 365 },
  { name: 'weight', label: 'Weight', min: 1, max: 1_000 },
]

export interface TierForm {
  name: string
  limits: Readonly<Record<string, string>>
  deadLetters: boolean
}

export function formOf(tier: Tier, name = tier.name): TierForm {
  const limits = limitFields.map((field) => [field.name, String(tier[field.name] ?? '')])
  return { name, limits: Object.fromEntries(limits), deadLetters: tier.dead_letters }
}

export function tierRequestOf({ limits, deadLetters }: TierForm): TierRequest {
  const values = limitFields.map(({ name }) => {
    const text = limits[name]!.trim()
    return [name, text === '' ? null : Number(text)]
  })
  return { ...Object.fromEntries(values), dead_letters: deadLetters }
}

/** Why a limit cannot be sent; null: it can. */
export function limitError(
  { name, min, max, isOptional = false }: LimitField,
  form: TierForm,
): string | null {
  const text = form.limits[name]!.trim()
  if (text === '') return isOptional ? null : 'It needs a number.'
  const isGood = /^\d+$/.test(text) && Number(text) >= min && Number(text) <= max
  return isGood ? null : `A whole number from ${formatCount(min)} to ${formatCount(max)}.`
}

export function tierFormError(form: TierForm): string | null {
  if (!/^[a-z0-9][a-z0-9_-]{0,63}$/.test(form.name))
    return 'A name has small letters, digits, - and _, at most 64.'
  return limitFields.map((field) => limitError(field, form)).find((error) => error !== null) ?? null
}

export function limitsOf(tier: Tier): string[] {
  const { requests_per_second: requests, host_calls_per_second: calls } = tier
  const { active_jobs_max: jobs, timeout_seconds_max: timeout } = tier
  const { executions_per_minute: executions, concurrent_executions_max: concurrent } = tier
  const { waiting_executions_max: waiting, storage_bytes_max: storage } = tier
  return [
    jobs === null ? 'jobs unlimited' : `${formatCount(jobs)} active jobs`,
    executions === null ? 'executions unlimited' : `${formatCount(executions)} executions/min`,
    ...(concurrent === null ? [] : [`${formatCount(concurrent)} at once`]),
    ...(waiting === null ? [] : [`${formatCount(waiting)} waiting`]),
    ...(storage === null ? [] : [`storage ${formatBytes(storage)}`]),
    requests === null ? 'requests unlimited' : `${formatCount(requests)} requests/s`,
    calls === null ? 'calls unlimited' : `${formatCount(calls)} calls/s to a host`,
    `${plural(tier.history_days, 'day')} of history`,
    `payload ${formatBytes(tier.payload_bytes_max)}`,
    plural(tier.retries_max, 'retry', 'retries'),
    `every ${tier.interval_seconds_min} s at most`,
    ...(timeout === null ? [] : [`timeout ${formatCount(timeout)} s`]),
    `priority from ${tier.priority_best}`,
    tier.dead_letters ? 'dead letters' : 'no dead letters',
  ]
}

export function excessText({
  limit,
  allowed,
  used,
  jobs,
}: TierChanged['exceeding'][number]['limits'][number]) {
  const label = limitFields.find(({ name }) => name === limit)?.label ?? limit
  const where = jobs === null ? '' : `, in ${plural(jobs, 'job')}`
  const format = limit === 'storage_bytes_max' ? formatBytes : formatCount
  return `${label}: ${format(used)} of ${format(allowed)}${where}`
}
