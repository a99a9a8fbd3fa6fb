// The record of every slot of a job, read from the ports alone: the executions of its slots, its skips, and its owed
// slots. Each slot up to an instant must have exactly one of them.
import assert from 'node:assert/strict'
import type { SkipReason } from '../../../src/domain/queue/execution.ts'
import { compileSchedule } from '../../../src/domain/schedule/compile-schedule.ts'
import { slotsBetween } from '../../../src/domain/schedule/next-run.ts'
import type { EpochMs } from '../../../src/lib/time/epoch.ts'
import type { NewJob } from '../../../src/ports/jobs.ts'
import type { Scenario } from '../scenario.ts'

export type Fate = 'fired' | 'owed' | SkipReason

/** A run of slots with one fate, by their seconds, both included. */
export interface FateRun {
  from: number
  to: number
  fate: Fate
}

type Planned = Pick<NewJob, 'schedule' | 'anchorAt' | 'jobId'>

/** Every slot that has a record, or is owed, as runs in order; fails when one has two. */
export async function ledgerOf(s: Scenario, job: NewJob): Promise<FateRun[]> {
  const fates = new Map<EpochMs, Fate>()
  const put = (slot: EpochMs, fate: Fate) => {
    assert(!fates.has(slot), `slot ${secondOf(s, slot)} is ${fates.get(slot)} and ${fate}`)
    fates.set(slot, fate)
  }
  const { executions } = await s.list(job, { kind: 'slot', limit: 200 })
  for (const { slot } of executions) put(slot, 'fired')
  const { tenantId, jobId } = job
  const whole = { from: s.at(-1_000), to: s.at(10_000), limit: 200 }
  const skips = await s.slotLedger.listSkips({ tenantId, jobId, ...whole })
  for (const { from, to, count, reason, schedule, anchorAt } of skips!) {
    const slots = slotsOf({ schedule, anchorAt, jobId }, from, to)
    assert.deepEqual([slots.length, slots[0], slots.at(-1)], [count, from, to], `a range of ${reason}`)
    for (const slot of slots) put(slot, reason)
  }
  const owed = await s.owedBy(job)
  const { schedule, anchorAt } = (await s.jobs.get(tenantId, jobId))!
  for (const slot of owed === null ? [] : slotsOf({ schedule, anchorAt, jobId }, owed.from, owed.to)) {
    if (!fates.has(slot)) fates.set(slot, 'owed')
  }
  return toRuns(s, fates)
}

/** The whole second an instant lies in. */
export function secondOf(s: Scenario, at: EpochMs): number {
  return Math.floor((at - s.at(0)) / 1_000)
}

function slotsOf({ schedule, anchorAt, jobId }: Planned, from: EpochMs, to: EpochMs): EpochMs[] {
  const answer = compileSchedule(schedule, { createdAt: anchorAt, jobId })
  assert(answer.ok)
  return slotsBetween(answer.value.compiled, { from, to: (to + 1) as EpochMs })
}

/** Slots of the same fate, a second apart, are one run. */
function toRuns(s: Scenario, fates: ReadonlyMap<EpochMs, Fate>): FateRun[] {
  const runs: FateRun[] = []
  for (const [slot, fate] of [...fates].toSorted(([a], [b]) => a - b)) {
    const second = secondOf(s, slot)
    const last = runs.at(-1)
    if (last?.fate === fate && last.to === second - 1) last.to = second
    else runs.push({ from: second, to: second, fate })
  }
  return runs
}
