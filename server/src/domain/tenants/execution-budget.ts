// The executions a minute of a tenant: a bucket that empties at the rate of the tier and holds two minutes' worth. An
// execution is charged once, when it is let go for the first time, and never for an attempt. Pure: the store decides under
// the lock of the tenant's row, so the budget is exact over all processes, and no process keeps any of it.
import { type EpochMs, epochMs } from '../../lib/time/epoch.ts'
import { minuteMs } from '../../lib/time/units.ts'

/** Where an execution waits, instead of for a host, that has not been charged yet: no worker claims it. */
export const quotaHost = 'quota'
/** The message of an execution that waited for the budget until its misfire window was over. */
export const quotaSkipMessage =
  'Skipped: the tenant had no budget (executions_per_minute of its tier) before the misfire window was over.'

/** A tenant may start so many minutes' worth of executions at once. */
const burstMinutes = 2
/** The share of a burst that slots leave to triggers: a person is waiting for a trigger. */
const triggersShare = 0.1
/** Rounding errors of the division below, far less than one execution. */
const tolerance = 1e-6

/** The row of a tenant; no row: nothing was ever charged. */
export interface ExecutionBudget {
  /** Executions that were charged and not earned back by `countedAt`. */
  spent: number
  countedAt: EpochMs
}

/** `trigger`: a caller waits for the answer. `slot`: it can wait, as graph nodes, backfills and redrives can. */
export type BudgetUse = 'trigger' | 'slot'

export interface BudgetOrder {
  tenantId: string
  use: BudgetUse
  /** Executions, at least 1. */
  count: number
  /** All of them or none. */
  whole: boolean
}

export interface BudgetGrant {
  granted: number
  /** The limit by which it was judged. Null: none, and all are granted. */
  executionsPerMinute: number | null
  /** When the rest could be granted if nothing else is charged; 0: nothing is left to grant. Null: never, it is more than a burst. */
  restInMs: number | null
}

export interface BudgetTerms {
  /** Null: no limit. */
  executionsPerMinute: number | null
  now: EpochMs
  /** Executions of the tenant wait for the budget already, and come before slots that fire now. Absent: they do not. */
  isBehind?: boolean
}

/** The most that are charged at once. */
export function burstOf(executionsPerMinute: number, use: BudgetUse): number {
  const whole = executionsPerMinute * burstMinutes
  return use === 'trigger' ? whole : Math.max(1, Math.floor(whole * (1 - triggersShare)))
}

/**
 * Executions that were charged and are not earned back yet. No more than a burst: the burst of a
 * larger tier would hold the tenant up for hours.
 */
export function spentAt({ spent, countedAt }: ExecutionBudget, executionsPerMinute: number, now: EpochMs) {
  const earned = (Math.max(0, now - countedAt) * executionsPerMinute) / minuteMs
  return Math.max(0, Math.min(spent, burstOf(executionsPerMinute, 'trigger')) - earned)
}

/** When nothing charged is left to earn back. */
export function emptyAt(budget: ExecutionBudget, executionsPerMinute: number, now: EpochMs): EpochMs {
  return epochMs(
    now + Math.ceil((spentAt(budget, executionsPerMinute, now) * minuteMs) / executionsPerMinute),
  )
}

/** Orders of one tenant, in turn. Returns the row as it is then. */
export function drawFrom(
  budget: ExecutionBudget | null,
  { executionsPerMinute, now, isBehind = false }: BudgetTerms,
  orders: readonly Pick<BudgetOrder, 'use' | 'count' | 'whole'>[],
): { budget: ExecutionBudget; grants: BudgetGrant[] } {
  if (executionsPerMinute === null) {
    const grants = orders.map(({ count }) => ({ granted: count, executionsPerMinute, restInMs: 0 }))
    return { budget: { spent: 0, countedAt: now }, grants }
  }
  // A clock that was set back earns nothing, and takes nothing back: for as long as a burst lasts, and not for as long as
  // the clock was ahead.
  const countedMax = now + burstMinutes * minuteMs
  const countedAt = epochMs(Math.max(now, Math.min(budget?.countedAt ?? now, countedMax)))
  let spent = budget === null ? 0 : spentAt(budget, executionsPerMinute, now)
  const grants = orders.map(({ use, count, whole }): BudgetGrant => {
    const burst = burstOf(executionsPerMinute, use)
    const mayOvertake = use === 'trigger' || !isBehind
    const free = mayOvertake ? Math.max(0, Math.floor(burst - spent + tolerance)) : 0
    const granted = whole && count > free ? 0 : Math.min(count, free)
    spent += granted
    const rest = whole ? count - granted : Math.min(1, count - granted)
    const missing = spent + rest - burst
    const restInMs =
      rest === 0
        ? 0
        : rest > burst
          ? null
          : Math.max(1, Math.ceil((missing * minuteMs) / executionsPerMinute))
    return { granted, executionsPerMinute, restInMs }
  })
  return { budget: { spent, countedAt }, grants }
}

/** Executions that were charged and not made after all. */
export function giveBackTo(budget: ExecutionBudget, count: number): ExecutionBudget {
  return { ...budget, spent: Math.max(0, budget.spent - count) }
}
