// How many executions an operation may add: an operation waits at the limit of its tenant and does not fail.

import type { WaitingEstimates } from '../domain/tenants/waiting-estimates.ts'
import { lastId } from '../lib/id.ts'
import type { Clock } from '../ports/clock.ts'
import type { OperationProgress } from '../ports/operations.ts'
import type { TenantRoom } from '../ports/tenant-room.ts'

export interface RoomDeps {
  clock: Pick<Clock, 'monotonicMs'>
  /** Of this process. */
  waiting: WaitingEstimates
}

/** While there is no room. */
export const roomWaitMs = 1_000

/** Any number without a limit, which is asked about once in a while only. */
export async function roomOf(
  { clock, waiting }: RoomDeps,
  { tenantId, tenantRoom }: { tenantId: string; tenantRoom: Pick<TenantRoom, 'waitingRoom'> },
): Promise<number> {
  const nowMs = clock.monotonicMs()
  if (waiting.isOld(tenantId, 1, nowMs)) {
    const found = (await tenantRoom.waitingRoom([tenantId])).get(tenantId)
    waiting.note(tenantId, found ?? { waitingMax: null, waiting: 0 }, nowMs)
  }
  return waiting.roomOf(tenantId)
}

/** A step that does nothing: the next one goes on where this one began. */
export function waitForRoom(after: string | null): OperationProgress {
  return { done: 0, skipped: 0, after: after ?? lastId, waitMs: roomWaitMs }
}
