// The slot ledger of a job: executions and skips from the store, and slots without a record from the schedule, merged
// into one list in which every slot appears once. Reads no more than a page holds, wherever it begins.
import type { SlotReason, SlotStatus } from '@carillon/contract/slot.ts'
import type { JobView } from '../../domain/jobs/job.ts'
import { compileStored } from '../../domain/schedule/compile-schedule.ts'
import { type Calendars as CalendarEntries, emptyCalendars } from '../../domain/schedule/exclusions.ts'
import type { CompiledSchedule } from '../../domain/schedule/next-run.ts'
import { nameExclusion } from '../../domain/schedule/which-exclusion.ts'
import { misfireWindowMs } from '../../domain/scheduling/misfire.ts'
import { type SlotFacts, type SlotWindow, UnrecordedSlots } from '../../domain/scheduling/unrecorded-slots.ts'
import { type EpochMs, epochMs } from '../../lib/time/epoch.ts'
import { dayMs } from '../../lib/time/units.ts'
import type { Calendars } from '../../ports/calendars.ts'
import type { SkipRange, SlotExecution, SlotLedger, SlotOrder, SlotPage } from '../../ports/slot-ledger.ts'
import { calendarsNamed } from '../jobs/named-calendars.ts'
import { countSkipped, expandRanges, SkipSchedules } from './skipped-slots.ts'

export interface LedgerDeps {
  slotLedger: Pick<SlotLedger, 'listSlots' | 'listSkips' | 'countSlots'>
  calendars: Pick<Calendars, 'resolve'>
}

export interface LedgerSlot {
  slot: EpochMs
  status: SlotStatus
  reason: SlotReason | null
  executionId: string | null
  /** That it was skipped in. */
  range: SkipRange | null
}

/** Further facts of the store about the job. */
type StoreFacts = Pick<SlotPage, 'recordedAt' | 'owed'>

export interface LedgerPage {
  slots: LedgerSlot[]
  /** Behind which the next page lies; null: that was all. */
  next: EpochMs | null
  facts: StoreFacts
}

interface LedgerQuery {
  window: SlotWindow
  limit: number
  order: SlotOrder
}

export class JobLedger {
  readonly #deps: LedgerDeps
  readonly job: JobView
  /** With its calendars; null: it cannot be read any more. */
  readonly schedule: CompiledSchedule | null
  readonly #calendars: CalendarEntries
  readonly #now: EpochMs
  readonly #schedules: SkipSchedules

  /** See `open`. */
  constructor(deps: LedgerDeps, of: { job: JobView; calendars: CalendarEntries; now: EpochMs }) {
    this.#deps = deps
    this.job = of.job
    this.schedule = compileStored(of.job, of.calendars)
    this.#calendars = of.calendars
    this.#now = of.now
    this.#schedules = new SkipSchedules(of.job.jobId)
  }

  /** The job is read before its records: slots recorded meanwhile are seen as recorded. */
  static async open(deps: LedgerDeps, job: JobView, now: EpochMs): Promise<JobLedger> {
    const named = await calendarsNamed(deps.calendars, job.tenantId, job.schedule)
    return new JobLedger(deps, { job, calendars: { ...emptyCalendars([job.schedule]), ...named }, now })
  }

  async list({ window, limit, order }: LedgerQuery): Promise<LedgerPage> {
    // One range and more for each slot of the page, and two that only reach over an end of the window.
    const rangesMax = limit + 3
    const query = { ...this.#key(), ...window, order }
    const [page, ranges] = await Promise.all([
      this.#deps.slotLedger.listSlots({ ...query, limit: limit + 1, lateMs: this.lateMs() }),
      this.#deps.slotLedger.listSkips({ ...query, limit: rangesMax }),
    ])
    if (page === null || ranges === null) throw new Error(`the job ${this.job.jobId} is gone`)
    const unrecorded = new UnrecordedSlots(this.#factsOf(page), window)
    const sources = [
      page.executions.map(ofExecution).values(),
      expandSkips(this.#schedules, ranges, { window, order }),
      walk(unrecorded, window, order),
    ]
    const far = ranges.length < rangesMax ? null : order === 'asc' ? ranges.at(-1)!.to : ranges.at(-1)!.from
    const end = nearer(order, page.end, far)
    const slots: LedgerSlot[] = []
    for (const one of merge(sources, order)) {
      if (end !== null && isBehind(order, one.slot, end)) break
      if (slots.length === limit) return { slots, next: slots.at(-1)!.slot, facts: page }
      slots.push(one)
    }
    const isLast = end === null || !isBehind(order, order === 'asc' ? window.to : window.from, end)
    return { slots, next: isLast ? null : end, facts: page }
  }

  /** How many there are in a window, by the facts of a page of it; counting stops early where it would take long. */
  async count(window: SlotWindow, facts: StoreFacts): Promise<{ total: number; capped: boolean }> {
    const recorded = await this.#countRecorded(window)
    const { owed, ahead } = new UnrecordedSlots(this.#factsOf(facts), window).count()
    const total = recorded.total + ahead
    if (owed === 0) return { total, capped: recorded.capped }
    const among = await this.#countRecorded({
      from: Math.max(window.from, facts.owed!.from) as EpochMs,
      to: Math.min(window.to, facts.owed!.to) as EpochMs,
    })
    return { total: total + Math.max(0, owed - among.total), capped: recorded.capped || among.capped }
  }

  /** The exclusion that covers a slot, in words, by the schedule it was skipped under, else by the present one. */
  nameExclusion(slot: EpochMs, range: SkipRange | null): string | null {
    const { schedule, anchorAt } = range ?? this.job
    const calendars = { ...emptyCalendars([schedule]), ...this.#calendars }
    return nameExclusion({ jobId: this.job.jobId, schedule, anchorAt }, calendars, slot)
  }

  async #countRecorded(window: SlotWindow): Promise<{ total: number; capped: boolean }> {
    const count = await this.#deps.slotLedger.countSlots({ ...this.#key(), ...window, lateMs: this.lateMs() })
    if (count === null) throw new Error(`the job ${this.job.jobId} is gone`)
    const { executions, skipped, edges, capped } = count
    return { total: executions + skipped + countSkipped(this.#schedules, edges, window), capped }
  }

  #key(): { tenantId: string; jobId: string } {
    return { tenantId: this.job.tenantId, jobId: this.job.jobId }
  }

  /** How long after its time an execution may be made: a misfired one, or one that waited for others. */
  lateMs(): number {
    if (this.schedule === null) return 2 * dayMs
    return misfireWindowMs(this.schedule, this.job.misfireWindowSeconds) + dayMs
  }

  #factsOf({ recordedAt, owed }: StoreFacts): SlotFacts {
    return { job: this.job, schedule: this.schedule, now: this.#now, recordedAt, owed }
  }
}

function ofExecution({ slot, executionId, status }: SlotExecution): LedgerSlot {
  return { slot, status, reason: status === 'SKIPPED' ? 'quota' : null, executionId, range: null }
}

function* expandSkips(
  schedules: SkipSchedules,
  ranges: readonly SkipRange[],
  options: { window: SlotWindow; order: SlotOrder },
): Generator<LedgerSlot> {
  for (const { at, range } of expandRanges(schedules, ranges, options))
    yield { slot: at, status: 'SKIPPED', reason: range.reason, executionId: null, range }
}

function* walk(slots: UnrecordedSlots, { from, to }: SlotWindow, order: SlotOrder): Generator<LedgerSlot> {
  const step = (at: EpochMs) => (order === 'asc' ? slots.next(at) : slots.previous(at))
  let one = step(epochMs(order === 'asc' ? from - 1 : to + 1))
  while (one !== null) {
    yield { ...one, executionId: null, range: null }
    one = step(one.slot)
  }
}

/** Each source is in order. A slot that several have is told by the first of them: a record counts, a plan does not. */
function* merge(sources: readonly Iterator<LedgerSlot>[], order: SlotOrder): Generator<LedgerSlot> {
  const heads = sources.map((source) => source.next())
  while (true) {
    let best: LedgerSlot | null = null
    for (const head of heads) {
      if (head.done !== true && (best === null || isBehind(order, best.slot, head.value.slot)))
        best = head.value
    }
    if (best === null) return
    yield best
    for (const [index, head] of heads.entries()) {
      if (head.done !== true && head.value.slot === best.slot) heads[index] = sources[index]!.next()
    }
  }
}

/** Whether `a` comes after `b` in this order. */
function isBehind(order: SlotOrder, a: EpochMs, b: EpochMs): boolean {
  return order === 'asc' ? a > b : a < b
}

function nearer(order: SlotOrder, a: EpochMs | null, b: EpochMs | null): EpochMs | null {
  if (a === null || b === null) return a ?? b
  return isBehind(order, a, b) ? b : a
}
