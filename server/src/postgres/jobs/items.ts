// The lists that the statements on jobs take as JSON: which key is which column. The keys of a trigger are short: its
// statement is a hot path.
import { defineItem } from '../sql/item.ts'

/** A new job. */
export const jobItem = defineItem({
  jobId: 'uuid',
  tenantId: 'uuid',
  createdMs: 'float8',
  createdBy: 'text',
  key: 'text',
  search: 'text',
  name: 'text',
  description: 'text',
  tags: 'text[]',
  schedule: 'json',
  impliedDst: 'text[]',
  anchorMs: 'float8',
  execution: 'json',
  leanExecution: 'json',
  payloadBytes: 'int',
  retryPolicy: 'json',
  priority: 'smallint',
  overlapPolicy: 'text',
  misfirePolicy: 'text',
  misfireWindowSeconds: 'int',
  jitterSeconds: 'int',
  concurrencyLimit: 'int',
  concurrencyKey: 'text',
  concurrencyKeyLimit: 'int',
  calendars: 'text[]',
  limited: 'boolean',
  route: 'text',
  ownRows: 'boolean',
  dependsOn: 'json',
  metadata: 'json',
  partitionId: 'smallint',
  status: 'text',
  slotMs: 'float8',
  dueMs: 'float8',
  /** Of an immediate job: its first slot, and the execution of it. */
  firstSlotMs: 'float8',
  executionId: 'uuid',
  lane: 'text',
})

export const jobKeyItem = defineItem({ tenantId: 'uuid', jobId: 'uuid' })

export const triggerItem = defineItem({
  number: ['n', 'int'],
  tenantId: ['t', 'uuid'],
  executionId: ['e', 'uuid'],
  jobId: ['j', 'uuid'],
  lane: ['l', 'text'],
  payload: ['p', 'text'],
  /** The worker that may claim it on insert, and the route of that worker. */
  workerId: ['w', 'uuid'],
  workerRoute: ['r', 'text'],
  uncharged: ['u', 'boolean'],
})

/** A batch of triggers of one job. */
export const batchItem = defineItem({ batchId: 'uuid', size: 'int', payloads: 'json' })

export const backfillItem = defineItem({ number: 'int', executionId: 'uuid', slotMs: 'float8', lane: 'text' })

/** A range of slots that a change skips. */
export const skippedItem = defineItem({
  fromMs: 'float8',
  toMs: 'float8',
  slotCount: 'int',
  reason: 'text',
  version: 'int',
  pausedMs: 'float8',
  pausedBy: 'text',
  pauseReason: 'text',
})

/** An idempotency key to claim. */
export const keyItem = defineItem({ number: 'int', tenantId: 'uuid', key: 'text' })

/** The reply to keep under an idempotency key; the fingerprint is in hexadecimal. */
export const replyItem = defineItem({
  tenantId: 'uuid',
  key: 'text',
  fingerprint: 'text',
  status: 'smallint',
  headers: 'json',
  body: 'text',
})
