// The form of a tier.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Tier } from '@carillon/contract/tenant.ts'
import {
  excessText,
  formOf,
  limitError,
  limitFields,
  limitsOf,
  tierFormError,
  tierRequestOf,
} from './tier-form.ts'

const tier: Tier = {
  name: 'gold',
  weight: 3,
  history_days: 180,
  payload_bytes_max: 10_240,
  retries_max: 5,
  interval_seconds_min: 10,
  priority_best: 3,
  dead_letters: true,
  requests_per_second: null,
  host_calls_per_second: 50,
  active_jobs_max: 500,
  timeout_seconds_max: null,
  executions_per_minute: 1_000,
  concurrent_executions_max: null,
  waiting_executions_max: 5_000,
  storage_bytes_max: 1_048_576,
}
const withLimit = (name: string, text: string) => {
  const form = formOf(tier)
  return { ...form, limits: { ...form.limits, [name]: text } }
}

test('a tier that is not touched is sent as it is', () => {
  const { name: _name, ...request } = tier
  assert.deepEqual(tierRequestOf(formOf(tier)), request)
  assert.equal(tierFormError(formOf(tier)), null)
  assert.equal(formOf(tier, 'silver').name, 'silver')
})

test('an empty limit is none, where a tier may have none', () => {
  assert.equal(tierRequestOf(withLimit('active_jobs_max', ' ')).active_jobs_max, null)
  assert.equal(tierFormError(withLimit('active_jobs_max', '')), null)
  assert.match(tierFormError(withLimit('weight', ''))!, /number/)
})

test('a limit beside its range, and a name that no path takes, are refused', () => {
  const field = limitFields.find(({ name }) => name === 'priority_best')!
  for (const text of ['0', '11', '1.5', 'x', '-1'])
    assert.match(limitError(field, withLimit('priority_best', text))!, /1 to 10/)
  for (const name of ['', 'Gold', 'a b', '-a', 'x'.repeat(65)])
    assert.match(tierFormError(formOf(tier, name))!, /name/)
})

test('limits and the excess of a tenant are told in words', () => {
  assert.deepEqual(limitsOf(tier).slice(0, 6), [
    '500 active jobs',
    '1,000 executions/min',
    '5,000 waiting',
    'storage 1.0 MB',
    'requests unlimited',
    '50 calls/s to a host',
  ])
  const one = { limit: 'retries_max', allowed: 3, used: 9, jobs: 1 } as const
  assert.equal(excessText(one), 'Retries: 9 of 3, in 1 job')
  assert.equal(excessText({ ...one, limit: 'active_jobs_max', jobs: null }), 'Active jobs: 9 of 3')
  const stored = { limit: 'storage_bytes_max', allowed: 1_024, used: 3_072, jobs: null } as const
  assert.match(excessText(stored), /: 3\.0 KB of 1\.0 KB$/)
})
