import assert from 'node:assert/strict'
import test from 'node:test'
import { DeadLetter } from '@carillon/contract/dead-letter.ts'
import * as execution from '@carillon/contract/execution.ts'
import { EXECUTION_STATUSES as WIRE_STATUSES } from '@carillon/contract/execution-status.ts'
import * as graphRun from '@carillon/contract/graph-run.ts'
import * as job from '@carillon/contract/job.ts'
import * as operation from '@carillon/contract/operation.ts'
import * as worker from '@carillon/contract/worker.ts'
import { DEPENDENCY_RULES } from '../../domain/graphs/graph.ts'
import { NODE_SKIP_REASONS, ROLE_LETTERS, RUN_KINDS, RUN_STATUSES } from '../../domain/graphs/graph-run.ts'
import { LOG_LEVELS } from '../../domain/history/log.ts'
import { EXECUTORS, JOB_STATUSES, MISFIRE_POLICIES, OVERLAP_POLICIES } from '../../domain/jobs/job.ts'
import { BACKFILL_ORDERS, OPERATION_KINDS, OPERATION_STATUSES } from '../../domain/jobs/operation.ts'
import { DEAD_REASONS } from '../../domain/queue/attempt.ts'
import {
  ATTEMPT_OUTCOMES,
  EXECUTION_KINDS,
  EXECUTION_STATUSES,
  SKIP_REASONS,
} from '../../domain/queue/execution.ts'
import { BACKOFFS, ERROR_TYPES } from '../../domain/queue/retry.ts'
import { SCHEDULE_TYPES } from '../../domain/schedule/compile-schedule.ts'

test('the contract and the domain name the same things', () => {
  const { kind } = execution.ExecutionItem.properties
  const { outcome } = execution.Attempt.properties
  const {
    overlap_policy: overlap,
    misfire_policy: misfire,
    schedule,
    retry_policy: retry,
  } = job.Job.properties
  const { type: types } = (schedule as unknown as { properties: { type: { enum: string[] } } }).properties
  const pairs: [readonly string[], readonly string[]][] = [
    [WIRE_STATUSES, EXECUTION_STATUSES],
    [execution.ERROR_TYPES, ERROR_TYPES],
    [execution.SKIP_REASONS, SKIP_REASONS],
    [job.JOB_STATUSES, JOB_STATUSES],
    [operation.OPERATION_KINDS, OPERATION_KINDS],
    [operation.OPERATION_STATUSES, OPERATION_STATUSES],
    [operation.BackfillRequest.properties.order.enum, BACKFILL_ORDERS],
    [kind.enum, EXECUTION_KINDS],
    [outcome.enum, ATTEMPT_OUTCOMES],
    [overlap.enum, OVERLAP_POLICIES],
    [misfire.enum, MISFIRE_POLICIES],
    [types.enum, SCHEDULE_TYPES],
    [retry.properties.backoff.enum, BACKOFFS],
    [DeadLetter.properties.dlq_reason.enum, DEAD_REASONS],
    [worker.EXECUTORS, EXECUTORS],
    [worker.LOG_LEVELS, LOG_LEVELS],
    [graphRun.DEPENDENCY_RULES, DEPENDENCY_RULES],
    [graphRun.RUN_STATUSES, RUN_STATUSES],
    [graphRun.RUN_KINDS, RUN_KINDS],
    [graphRun.NODE_ROLES, Object.keys(ROLE_LETTERS)],
    [graphRun.NODE_SKIP_REASONS, NODE_SKIP_REASONS],
  ]
  for (const [wire, domain] of pairs) assert.deepEqual([...wire], [...domain])
})
