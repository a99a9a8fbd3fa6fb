// Attempts in progress, in memory, as reported by workers and targets that run them elsewhere.
import { executionIdAt } from '../../src/domain/queue/execution.ts'

import type {
  AttemptEnding,
  AttemptMark,
  Attempts,
  AttemptUpdate,
  HeldAttempt,
  ReportAnswer,
  UpdateAnswer,
} from '../../src/ports/attempts.ts'
import { findUnderWay, isRunning, type UnderWay } from './cancel.ts'
import { silentAtOf } from './deadlines.ts'
import { leaveRunning } from './leave.ts'
import type { LiveRow } from './rows.ts'
import { settle, takeOut } from './settle.ts'
import type { MemoryStore } from './store.ts'

export class MemoryAttempts implements Attempts {
  readonly #store: MemoryStore

  constructor(store: MemoryStore) {
    this.#store = store
  }

  async find(executionIds: readonly string[]): Promise<HeldAttempt[]> {
    return [...new Set(executionIds)].flatMap((executionId) => {
      const found = findUnderWay(this.#store, executionId)
      return found === null || !isRunning(found) ? [] : [this.#heldOf(found)]
    })
  }

  async report(reports: readonly AttemptEnding[]): Promise<ReportAnswer> {
    const answer: ReportAnswer = { refused: [], cancelled: [] }
    for (const one of reports) {
      const found = this.#findHeld(one)
      if (found === null) {
        if (!this.#isRecorded(one)) answer.refused.push(one.executionId)
        continue
      }
      const row = this.#alone(found)
      const ending = one.ending.kind === 'unstarted' ? { ...one.ending, host: null } : one.ending
      if (settle(this.#store, row, ending) === 'cancelled') answer.cancelled.push(one.executionId)
    }
    return answer
  }

  async update(updates: readonly AttemptUpdate[]): Promise<UpdateAnswer[]> {
    return updates.map((update): UpdateAnswer => {
      const { executionId } = update
      const found = this.#findHeld(update)
      if (found === null) return { executionId, status: 'gone' }
      const row = found.kind === 'live' ? found.row : this.#leave(found, update)
      this.#store.changeLive(row, this.#saidIn(update, row))
      return { executionId, status: row.cancelledAt === null ? 'updated' : 'cancelled' }
    })
  }

  #findHeld({ executionId, attempt, fence, workerId }: AttemptMark): UnderWay | null {
    const found = findUnderWay(this.#store, executionId)
    if (found === null || !isRunning(found)) return null
    const held = found.kind === 'live' ? found.row : { ...found.batch, attempt: 1 }
    const isMeant = held.attempt === attempt && held.fence === fence
    return isMeant && (workerId === null || held.workerId === workerId) ? found : null
  }

  /**
   * True if its reply was lost, or it was cancelled before. A row from a time-out or a reclaim is not the caller's
   * report.
   */
  #isRecorded({ executionId, attempt, workerId, ending }: AttemptEnding): boolean {
    const said = ending.kind === 'ended' ? ending.end.outcome : null
    const rows = this.#store.log
      .of(executionId)
      .filter((row) => row.attempt === attempt && (workerId === null || row.workerId === workerId))
    return rows.length > 0 && rows.every(({ outcome }) => outcome === said || outcome === 'cancelled')
  }

  #alone(found: UnderWay): LiveRow {
    return found.kind === 'live' ? found.row : takeOut(this.#store, found.batch, found.entry)
  }

  #leave(found: UnderWay, { startedAt }: AttemptUpdate): LiveRow {
    const row = leaveRunning(this.#store, this.#alone(found), startedAt ?? this.#store.now())
    if (startedAt !== undefined) this.#store.changeLive(row, { startedAt })
    return row
  }

  #saidIn(note: AttemptUpdate, row: LiveRow): Partial<LiveRow> {
    const { alive, startedAt = null, progress, message, checkpoint } = note
    const silentAt = alive ? silentAtOf(this.#store, row) : null
    const isHeard = [progress, message, checkpoint].some((said) => said !== undefined) || silentAt !== null
    return {
      startedAt: row.startedAt ?? startedAt,
      ...(isHeard ? { heardAt: this.#store.now() } : {}),
      ...(silentAt === null ? {} : { silentAt }),
      ...(progress === undefined ? {} : { progress }),
      ...(message === undefined ? {} : { progressText: message }),
      ...(checkpoint === undefined ? {} : { checkpoint: structuredClone(checkpoint) }),
    }
  }

  #heldOf(found: UnderWay): HeldAttempt {
    if (found.kind === 'live') {
      const { executionId, tenantId, jobId, version, kind, slot, attempt, losses } = found.row
      const { fence, workerId, startedAt, totalDeadline, cancelledAt } = found.row
      const identity = { executionId, tenantId, jobId, version, kind, slot, attempt, losses, fence, workerId }
      return {
        ...identity,
        startedAt,
        totalDeadline,
        cancelled: cancelledAt !== null,
        ...('checkpoint' in found.row ? { checkpoint: found.row.checkpoint } : {}),
      }
    }
    const { batchId, kind, fence, workerId, claimedAt, cancels } = found.batch
    const { position, jobId, version, slot } = found.entry
    const { tenantId } = this.#store.jobs.get(jobId)!
    const first = { kind, attempt: 1, losses: 0, startedAt: claimedAt, totalDeadline: null } as const
    const executionId = executionIdAt(batchId, position)
    const cancelled = cancels.has(position)
    return { executionId, tenantId, jobId, version, slot, ...first, fence, workerId, cancelled }
  }
}
