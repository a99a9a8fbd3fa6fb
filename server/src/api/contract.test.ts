import assert from 'node:assert/strict'
import test from 'node:test'
import { DeadLetter } from '@carillon/contract/dead-letter.ts'
import * as execution from '@carillon/contract/execution.ts'
import * as job from '@carillon/contract/job.ts'
import * as operation from '@carillon/contract/operation.ts'
import * as worker from '@carillon/contract/worker.ts'
import { DEAD_REASONS } from '../domain/attempt.ts'
import { EXECUTION_KINDS, EXECUTION_STATUSES, OUTCOMES, SKIP_REASONS } from '../domain/execution.ts'
import { EXECUTORS, JOB_STATUSES, MISFIRE_POLICIES, OVERLAP_POLICIES } from '../domain/job.ts'
import { LOG_LEVELS } from '../domain/log.ts'
import { BACKFILL_ORDERS, OPERATION_KINDS, OPERATION_STATUSES } from '../domain/operation.ts'
import { BACKOFFS, ERROR_TYPES } from '../domain/retry.ts'
import { SCHEDULE_TYPES } from '../domain/schedule/compile-schedule.ts'

test('the contract and the domain name the same things', () => {
  const { kind } = execution.ExecutionItem.properties
  const { outcome } = execution.Attempt.properties
  const {
    overlap_policy: overlap,
    misfire_policy: misfire,
    schedule,
    retry_policy: retry,
  } = job.Job.properties
  const pairs: [readonly string[], readonly string[]][] = [
    [execution.EXECUTION_STATUSES, EXECUTION_STATUSES],
    [execution.ERROR_TYPES, ERROR_TYPES],
    [execution.SKIP_REASONS, SKIP_REASONS],
    [job.JOB_STATUSES, JOB_STATUSES],
    [operation.OPERATION_KINDS, OPERATION_KINDS],
    [operation.OPERATION_STATUSES, OPERATION_STATUSES],
    [operation.BackfillRequest.properties.order.enum, BACKFILL_ORDERS],
    [kind.enum, EXECUTION_KINDS],
    [outcome.enum, OUTCOMES],
    [overlap.enum, OVERLAP_POLICIES],
    [misfire.enum, MISFIRE_POLICIES],
    [schedule.properties.type.enum, SCHEDULE_TYPES],
    [retry.properties.backoff.enum, BACKOFFS],
    [DeadLetter.properties.dlq_reason.enum, DEAD_REASONS],
    [worker.EXECUTORS, EXECUTORS],
    [worker.LOG_LEVELS, LOG_LEVELS],
  ]
  for (const [wire, domain] of pairs) assert.deepEqual([...wire], [...domain])
})
