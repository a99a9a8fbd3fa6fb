// Executions in flight without a store and without HTTP, for tests of how a worker starts and ends them.
import assert from 'node:assert/strict'
import type { AttemptEnd } from '../src/domain/queue/attempt.ts'
import type { StopSignal } from '../src/lib/stop.ts'
import { epochMs } from '../src/lib/time/epoch.ts'
import type { HttpOutcome } from '../src/ports/http.ts'
import type { HeldBatch, HeldExecution } from '../src/worker/held-execution.ts'
import { InFlight, type InFlightOptions } from '../src/worker/in-flight.ts'
import type { Prepared } from '../src/worker/prepare.ts'
import { createVirtualWorld } from './virtual-world.ts'

export const ok: HttpOutcome = { kind: 'answered', status: 200, headers: {}, preview: new Uint8Array() }
export const refused: HttpOutcome = { kind: 'failed', type: 'CONNECTION_REFUSED', message: 'nobody listens' }
export const aborted: HttpOutcome = { kind: 'failed', type: 'CANCELLED', message: 'the call was cancelled' }

/** Calls end when a test says so, aborted or not. Capacity 32: four calls to one host. `isPaced`: calls start by turns. */
export function setupInFlight({
  capacity = 32,
  isPaced = false,
  ...options
}: Partial<InFlightOptions> & { isPaced?: boolean } = {}) {
  const world = createVirtualWorld()
  const running = new Map<string, { signal: StopSignal; end: (outcome: HttpOutcome) => void }>()
  const started: string[] = []
  const endedBatches: string[][] = []
  const endedLive: string[] = []
  let mayStart = true
  let made = 0
  const inFlight = new InFlight(
    {
      clock: world.clock,
      run(held, signal) {
        started.push(held.executionId)
        held.startedAt = world.clock.databaseNow()
        return new Promise((resolve) => {
          running.set(held.executionId, {
            signal,
            end(outcome) {
              running.delete(held.executionId)
              resolve({ end: { outcome: 'succeeded' } as AttemptEnd, outcome })
            },
          })
        })
      },
      mayStart: () => mayStart,
      ...(isPaced && { nextTurn: (callback: () => void) => world.timers.schedule(0, callback) }),
      onBatchEnded: ({ executions }) => endedBatches.push(executions.map(({ executionId }) => executionId)),
      onLiveEnded: ({ executionId }) => endedLive.push(executionId),
    },
    { capacity, ...options },
  )
  function makeHeldExecution(host: string, lane: string, batch: HeldBatch | null): HeldExecution {
    return {
      ...{ executionId: `${host} ${++made}`, jobId: `job ${made}`, version: 1, kind: 'slot', lane },
      ...{ slot: epochMs(0), enqueuedAt: epochMs(0), attempt: 1, losses: 0 },
      ...{ prepared: { host, tenantId: lane } as Prepared, bodyOverride: null, idempotencyKey: null },
      ...{ checkpoint: null, totalDeadline: null, isSuspect: false, awaitingUntil: null },
      ...{ runId: null, parents: [] },
      ...{ batch, position: 0, fence: 1, claimedMs: world.clock.monotonicMs() },
      ...{ status: 'queued', startedAt: null, end: null, abort: null },
      ...{ cancelledMs: null, isOver: false, isBeyondShare: false, waitsAs: null, leaving: false },
    }
  }
  /** Adds single executions of a host. */
  function addLive(host: string, count: number, lane = 'shared'): HeldExecution[] {
    const executions = Array.from({ length: count }, () => makeHeldExecution(host, lane, null))
    inFlight.add(executions)
    return executions
  }
  /** Adds one batch with an execution for each host. */
  function addBatch(hosts: readonly string[], lane = 'shared'): HeldBatch {
    const claimedMs = world.clock.monotonicMs()
    const batch: HeldBatch = {
      ...{
        batchId: `batch ${++made}`,
        fence: 1,
        claimedMs,
        executions: [],
        open: hosts.length,
        settling: false,
      },
    }
    for (const host of hosts) batch.executions.push(makeHeldExecution(host, lane, batch))
    inFlight.add(batch.executions)
    return batch
  }
  async function end({ executionId }: HeldExecution, outcome = ok): Promise<void> {
    const call = running.get(executionId)
    assert(call !== undefined, `${executionId} does not run`)
    call.end(outcome)
    await world.advance(0)
  }
  return {
    ...{ world, inFlight, running, started, endedBatches, endedLive, addLive, addBatch, end },
    allowStarts(allowed: boolean) {
      mayStart = allowed
    },
  }
}

export const idsOf = (executions: readonly HeldExecution[]) =>
  executions.map(({ executionId }) => executionId)
