import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JobRequest } from '@carillon/contract/job.ts'
import { rebase } from './rebase.ts'

const base: JobRequest = {
  name: 'a',
  description: 'old',
  schedule: { type: 'CRON', cron_expression: '0 9 * * *', timezone: 'UTC' },
  execution: { callback_url: 'http://a.example' },
}

test('the changes of two people are both kept, and for the same field the later one wins', () => {
  const theirs = {
    ...base,
    priority: 1,
    schedule: { type: 'CRON', cron_expression: '0 8 * * *', timezone: 'UTC' },
  }
  const mine = {
    ...base,
    name: 'b',
    schedule: { type: 'CRON', cron_expression: '0 9 * * *', timezone: 'Asia/Tokyo' },
  }
  const { description: _, ...without } = mine
  assert.deepEqual(rebase(base, theirs as JobRequest, without as JobRequest), {
    name: 'b',
    priority: 1,
    schedule: { type: 'CRON', cron_expression: '0 8 * * *', timezone: 'Asia/Tokyo' },
    execution: { callback_url: 'http://a.example' },
  })
})

test('without changes of my own it is the newest', () => {
  const theirs = { ...base, priority: 1 }
  assert.deepEqual(rebase(base, theirs, structuredClone(base)), theirs)
})
