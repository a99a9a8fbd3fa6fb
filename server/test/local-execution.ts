// An execution that a worker holds and runs on this machine, for tests of its attempts and their updates.
import assert from 'node:assert/strict'
import type { ShellExecution } from '../src/domain/executors/shell.ts'
import type { RetryPolicy } from '../src/domain/queue/retry.ts'
import { epochMs } from '../src/lib/time/epoch.ts'
import type { HeldExecution } from '../src/worker/held-execution.ts'
import { type PreparedLocal, prepare } from '../src/worker/prepare.ts'
import { shell } from './worker-scene.ts'

export const jobId = '019b7a00-4c00-7000-8000-000000000001'
export const slot = epochMs(Date.UTC(2026, 0, 25, 10))
let made = 0

export function makeLocalExecution(
  changes: Partial<HeldExecution> = {},
  execution: Partial<ShellExecution> = {},
  retryPolicy: Partial<RetryPolicy> = {},
): { held: HeldExecution; prepared: PreparedLocal } {
  const prepared = prepare(
    {
      ...{ jobId, version: 1, tenantId: 'a tenant', name: 'report', priority: 5, jitterSeconds: 0 },
      execution: { ...shell, ...execution },
      retryPolicy: {
        ...{ max_retries: 3, backoff: 'FIXED', initial_delay_ms: 1_000, max_delay_ms: 60_000 },
        ...retryPolicy,
      },
    },
    '1.2.3',
  )
  assert(prepared.executor !== 'http')
  const held: HeldExecution = {
    ...{ executionId: `execution ${++made}`, jobId, version: 1, kind: 'slot', lane: 'shared', slot },
    ...{ enqueuedAt: slot, attempt: 1, losses: 0, prepared, bodyOverride: null, idempotencyKey: null },
    ...{ checkpoint: null, totalDeadline: null, isSuspect: false, awaitingUntil: null },
    ...{ runId: null, parents: [] },
    ...{ batch: null, position: 0, fence: 1, claimedMs: 0, status: 'running', startedAt: null },
    ...{
      end: null,
      abort: null,
      cancelledMs: null,
      isOver: false,
      isBeyondShare: false,
      waitsAs: null,
      leaving: false,
    },
    ...changes,
  }
  return { held, prepared }
}
