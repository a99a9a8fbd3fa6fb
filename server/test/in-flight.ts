// A worker's hand without a store and without HTTP, for tests of what it holds.
import assert from 'node:assert/strict'
import type { AttemptEnd } from '../src/domain/queue/attempt.ts'
import type { StopSignal } from '../src/lib/stop.ts'
import { epochMs } from '../src/lib/time/epoch.ts'
import type { HttpOutcome } from '../src/ports/http.ts'
import type { BatchInHand, Task } from '../src/worker/held-execution.ts'
import { Hand, type HandOptions } from '../src/worker/in-flight.ts'
import type { Prepared } from '../src/worker/prepare.ts'
import { createVirtualWorld } from './virtual-world.ts'

export const ok: HttpOutcome = { kind: 'answered', status: 200, headers: {}, preview: new Uint8Array() }
export const refused: HttpOutcome = { kind: 'failed', type: 'CONNECTION_REFUSED', message: 'nobody listens' }
export const aborted: HttpOutcome = { kind: 'failed', type: 'CANCELLED', message: 'the call was cancelled' }

/** A hand whose calls end when a test says so, aborted or not. Capacity 32: four calls to one host. `isPaced`: by turns. */
export function setupHand({
  capacity = 32,
  isPaced = false,
  ...options
}: Partial<HandOptions> & { isPaced?: boolean } = {}) {
  const world = createVirtualWorld()
  const running = new Map<string, { signal: StopSignal; end: (outcome: HttpOutcome) => void }>()
  const started: string[] = []
  const endedBatches: string[][] = []
  const endedLive: string[] = []
  let mayStart = true
  let made = 0
  const hand = new Hand(
    {
      clock: world.clock,
      run(task, signal) {
        started.push(task.executionId)
        task.startedAt = world.clock.databaseNow()
        return new Promise((resolve) => {
          running.set(task.executionId, {
            signal,
            end(outcome) {
              running.delete(task.executionId)
              resolve({ end: { outcome: 'succeeded' } as AttemptEnd, outcome })
            },
          })
        })
      },
      mayStart: () => mayStart,
      ...(isPaced && { nextTurn: (callback: () => void) => world.timers.schedule(0, callback) }),
      onBatchEnded: ({ tasks }) => endedBatches.push(tasks.map(({ executionId }) => executionId)),
      onLiveEnded: ({ executionId }) => endedLive.push(executionId),
    },
    { capacity, ...options },
  )
  function makeTask(host: string, lane: string, batch: BatchInHand | null): Task {
    return {
      ...{ executionId: `${host} ${++made}`, jobId: `job ${made}`, version: 1, kind: 'slot', lane },
      ...{ slot: epochMs(0), enqueuedAt: epochMs(0), attempt: 1, losses: 0 },
      ...{ prepared: { host } as Prepared, bodyOverride: null, idempotencyKey: null },
      ...{ checkpoint: null, totalDeadline: null, isSuspect: false, awaitingUntil: null },
      ...{ runId: null, parents: [] },
      ...{ batch, position: 0, fence: 1, claimedMs: world.clock.monotonicMs() },
      ...{ state: 'queued', startedAt: null, end: null, abort: null },
      ...{ cancelledMs: null, isOver: false, leaving: false },
    }
  }
  /** Takes so many single executions of a host. */
  function takeLive(host: string, count: number, lane = 'shared'): Task[] {
    const tasks = Array.from({ length: count }, () => makeTask(host, lane, null))
    hand.take(tasks)
    return tasks
  }
  /** Takes one batch with an execution for each host. */
  function takeBatch(hosts: readonly string[], lane = 'shared'): BatchInHand {
    const claimedMs = world.clock.monotonicMs()
    const batch: BatchInHand = {
      ...{ batchId: `batch ${++made}`, fence: 1, claimedMs, tasks: [], open: hosts.length, settling: false },
    }
    for (const host of hosts) batch.tasks.push(makeTask(host, lane, batch))
    hand.take(batch.tasks)
    return batch
  }
  async function end({ executionId }: Task, outcome = ok): Promise<void> {
    const call = running.get(executionId)
    assert(call !== undefined, `${executionId} does not run`)
    call.end(outcome)
    await world.advance(0)
  }
  return {
    ...{ world, hand, running, started, endedBatches, endedLive, takeLive, takeBatch, end },
    allowStarts(allowed: boolean) {
      mayStart = allowed
    },
  }
}

export const idsOf = (tasks: readonly Task[]) => tasks.map(({ executionId }) => executionId)
