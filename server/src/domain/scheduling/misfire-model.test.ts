// Checks the plan after an outage against the rule in words, slot by slot, over random schedules.
import assert from 'node:assert/strict'
import test from 'node:test'
import { MISFIRE_POLICIES } from '@carillon/contract/constants.ts'
import { SeededRandom } from '../../../test/virtual-world.ts'
import { type EpochMs, epochMs, toRfc3339 } from '../../lib/time/epoch.ts'
import { hourMs } from '../../lib/time/units.ts'
import { compileSchedule } from '../schedule/compile-schedule.ts'
import { dueAtOf } from '../schedule/jitter.ts'
import { isExcluded, nextSlot, slotsBetween } from '../schedule/next-run.ts'
import { type LateJob, planLate } from './misfire.ts'

const misfireAfterMs = 60_000

// The rule in words, slot by slot.
function planSlotBySlot(job: LateJob, from: EpochMs, now: EpochMs): Map<EpochMs, string> {
  const { schedule, windowMs } = job
  const due = slotsBetween(schedule, { from, to: epochMs(now + 1) }).filter(
    (slot) => dueAtOf(job, slot) <= now,
  )
  const isMisfired = (slot: EpochMs) => dueAtOf(job, slot) < now - misfireAfterMs
  const may = due.filter(
    (slot) => isMisfired(slot) && dueAtOf(job, slot) >= now - windowMs && !isExcluded(schedule, slot),
  )
  const kept = { FIRE_ONCE: 1, FIRE_ALL: 1_000, SKIP: 0 }[job.misfirePolicy]
  const run = new Set(may.toReversed().slice(0, kept))
  return new Map(
    due.map((slot) => {
      if (isExcluded(schedule, slot)) return [slot, 'exclusion']
      return [slot, !isMisfired(slot) || run.has(slot) ? 'runs' : 'misfire']
    }),
  )
}

/** The decision of a plan for each slot; an owed slot that is excluded is skipped when its turn comes. */
function readPlan(job: LateJob, options: { from: EpochMs; now: EpochMs }): Map<EpochMs, string> {
  const { schedule } = job
  const { skipped, runs } = planLate(job, { ...options, misfireAfterMs })
  const said = new Map<EpochMs, string>()
  let reasonBefore = ''
  for (const { from, to, count, reason } of skipped) {
    assert.notEqual(reason, reasonBefore, 'neighbours are one range')
    reasonBefore = reason
    const slots = slotsBetween(schedule, { from, to: epochMs(to + 1) })
    assert.deepEqual([slots[0], slots.at(-1), slots.length], [from, to, count])
    for (const slot of slots) assert(!said.has(slot) && said.set(slot, reason))
  }
  if (runs === null) return said
  assert(!isExcluded(schedule, runs.first))
  for (const slot of slotsBetween(schedule, { from: runs.first, to: epochMs(runs.last + 1) })) {
    assert(!said.has(slot) && said.set(slot, isExcluded(schedule, slot) ? 'exclusion' : 'runs'))
  }
  const isPaced = job.misfirePolicy === 'FIRE_ALL' && dueAtOf(job, runs.first) < options.now - misfireAfterMs
  assert.equal(runs.paceMs, isPaced ? 100 : 0)
  return said
}

test('every slot up to now is skipped for its reason, runs, or is not due, as the rule in words says', () => {
  const random = new SeededRandom(21)
  const draw = (below: number) => Math.floor(random.next() * below)
  const pick = <T>(list: readonly T[]): T => list[draw(list.length)]!
  const zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu']
  // With the least gap between slots, on days of a clock change too: jitter stays below it.
  const texts = [
    ['*/7 * * * *', 180],
    ['5,35 1-3 * * *', 0],
    ['0 */6 * * *', 7_200],
    ['15 2 * * 0', 80_000],
    ['*/40 * * * * *', 19],
    ['0 0 1 * *', 80_000],
  ] as const
  const seen = new Map<string, number>()
  for (let i = 0; i < 1_500; i++) {
    const [expression, jitterMax] = pick(texts)
    const now = epochMs(pick([Date.UTC(2026, 2, 1), Date.UTC(2026, 9, 1)]) + draw(40 * 86_400_000))
    const exclusions = Array.from({ length: draw(4) }, () => {
      const from = now - draw(2 * 86_400_000)
      const to = from + 1_000 + draw(pick([600_000, 6 * hourMs, 48 * hourMs]))
      return { from: toRfc3339(epochMs(from)), to: toRfc3339(epochMs(to)) }
    })
    const definition = { type: 'CRON', cron_expression: expression, timezone: pick(zones), exclusions }
    const compiled = compileSchedule(definition, { createdAt: now })
    assert(compiled.ok)
    const schedule = compiled.value.compiled
    const from = nextSlot(schedule, epochMs(now - draw(pick([10 * 60_000, hourMs, 3 * 86_400_000]))))
    if (from === null || from > now) continue
    const job: LateJob = {
      jobId: `job ${i}`,
      schedule,
      jitterSeconds: pick([0, jitterMax]),
      misfirePolicy: pick(MISFIRE_POLICIES),
      windowMs: pick([0, 30_000, hourMs, 24 * hourMs, 96 * hourMs]),
    }
    const expected = planSlotBySlot(job, from, now)
    assert.deepEqual(readPlan(job, { from, now }), expected, `case ${i}`)
    for (const what of expected.values()) seen.set(what, (seen.get(what) ?? 0) + 1)
  }
  for (const what of ['runs', 'misfire', 'exclusion'])
    assert(seen.get(what)! > 1_000, `${what}: ${seen.get(what)}`)
})
