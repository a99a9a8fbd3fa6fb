// Tenants with limits: never more executions are charged than a burst and the rate of the tier allow, in any span of time;
// budget that is there is used; and a slot is skipped for quota only when it has waited until its misfire window was over,
// or came while as many executions waited as the tier allows.
import { type EpochMs, toRfc3339 } from '../../src/lib/time/epoch.ts'
import { type CheckedJob, type Context, isOfSlot, type RecordedExecution } from './checker.ts'
import type { Fault, FaultKind } from './faults.ts'

const minuteMs = 60_000
const burstMinutes = 2
/** Slots leave so much of a burst to triggers. */
const triggersShare = 0.1
/** Rounding errors. */
const tolerance = 1e-6
/** From a charge to the write that it is for. */
const writtenMsMax = 2_000
/** The same where a server stood still, or a call was carried out late, up to so long before. */
const delayedMsMax = 120_000
const delays: readonly FaultKind[] = ['pause', 'slow', 'late effect']
/** How long a fault may be felt. */
const aftermathMs = 40_000
/** A look at waiting executions, and a count of them, may be so old. */
const lookMs = 3_000
const countedMsMax = 11_000
/** Something that may be let go is looked for this often. */
const letGoEveryMs = 1_000
/** After it the workers have divided the limit anew. */
const dividedMsMax = 60_000
/** Of a server that was stopped. */
const downMsMax = 30_000
/** A day for jobs that run once a day or less often. */
const defaultWindowSecondsMin = 3_600

export function checkBudgets(context: Context, all: readonly CheckedJob[]): void {
  const byTenant = Map.groupBy(all, ({ job }) => job.tenantId)
  for (const [tenantId, jobs] of byTenant) {
    const tier = context.evidence.store.tierOf(tenantId)
    const perMinute = tier?.executionsPerMinute ?? null
    for (const checked of jobs)
      for (const one of checked.executions) checkSkipped(context, checked, one, perMinute)
    checkRoom(context, jobs, tier?.waitingExecutionsMax ?? null)
    checkRunning(context, tenantId, jobs, tier?.concurrentExecutionsMax ?? null)
    if (perMinute === null) continue
    checkRate(context, tenantId, perMinute)
    checkFlow(context, tenantId, perMinute)
  }
}

/** A bucket that empties at the rate, into which each charge falls. */
function checkRate({ evidence, say }: Context, tenantId: string, perMinute: number): void {
  const times = chargesOf(evidence, tenantId)
  const allowedWith = (delayMs: number) => perMinute * (burstMinutes + delayMs / minuteMs) + tolerance
  let spent = 0
  let before = 0
  for (const at of times) {
    spent = Math.max(0, spent - ((at - before) * perMinute) / minuteMs) + 1
    before = at
    if (spent <= allowedWith(writtenMsMax)) continue
    if (wasDelayed(evidence, at) && spent <= allowedWith(writtenMsMax + delayedMsMax)) continue
    const limit = `${perMinute} a minute, of which ${burstMinutes} minutes' worth may come at once`
    say('I27', `${tenantId} had started too many at ${toRfc3339(at)}: the limit is ${limit}`)
    return
  }
}

/** Whether charges from before may have been written only now. */
function wasDelayed({ faults, databaseAt }: Context['evidence'], at: EpochMs): boolean {
  const isNear = ({ fromMs, toMs }: Fault) =>
    databaseAt(fromMs) <= at && databaseAt(toMs) >= at - 2 * delayedMsMax
  return faults.some((fault) => delays.includes(fault.kind) && isNear(fault))
}

/** While something waits for the budget, all of it is used: triggers may have taken their share of the burst before. */
function checkFlow({ evidence, wasChargeFaulty, say }: Context, tenantId: string, perMinute: number): void {
  const times = chargesOf(evidence, tenantId)
  const stops = stopsOf(evidence)
  for (const stretch of evidence.heldStretches) {
    const { from, to } = stretch
    const isCalm = !wasChargeFaulty(null, from - aftermathMs, to) && !stops.some(during({ from, to }))
    if (stretch.tenantId !== tenantId || !isCalm) continue
    const charged = times.filter((at) => at > from && at <= to).length
    const earned = ((to - from - lookMs - letGoEveryMs * evidence.pollFactor) * perMinute) / minuteMs
    const least = Math.floor(earned - perMinute * burstMinutes * triggersShare) - 1
    if (charged >= least) continue
    const span = `from ${toRfc3339(from)} to ${toRfc3339(to)}`
    say('I27', `${tenantId} started ${charged} ${span}, while others waited; ${least} at least had budget`)
  }
}

function checkSkipped(
  { evidence, say }: Context,
  { version }: CheckedJob,
  one: RecordedExecution,
  perMinute: number | null,
): void {
  const { executionId, skipReason, runId, slot, endedAt, calls } = one
  if (skipReason !== 'quota') return
  const name = `${executionId} was skipped for quota`
  if (perMinute === null) say('I27', `${name}, and its tenant has no limit`)
  if (runId !== null || !isOfSlot(one)) say('I27', `${name}, and is no slot of a job without dependencies`)
  if (calls.length > 0 || evidence.chargedAt.has(executionId)) say('I27', `${name}, and had been charged`)
  const windowMs = (version.misfireWindowSeconds ?? defaultWindowSecondsMin) * 1_000
  if (endedAt < slot + windowMs - evidence.backMs)
    say('I27', `${name} at ${toRfc3339(endedAt)}, within its window of ${windowMs} ms`)
}

/** Slots that made no execution because as many waited as the tier allows. */
function checkRoom(
  { wasChargeFaulty, evidence, say }: Context,
  jobs: readonly CheckedJob[],
  waitingMax: number | null,
): void {
  const skips = jobs.flatMap(({ job }) => job.skips.filter(({ reason }) => reason === 'quota'))
  const executions = jobs.flatMap((checked) => checked.executions)
  const bornAt = ({ executionId, firedAt }: RecordedExecution) => evidence.bornAt.get(executionId) ?? firedAt
  for (const { from, to } of skips) {
    if (wasChargeFaulty(null, from - aftermathMs, to + aftermathMs)) continue
    const wasThere = (one: RecordedExecution) =>
      bornAt(one) <= from + lookMs && (one.calls.at(-1)?.at ?? one.endedAt) >= from - countedMsMax
    const there = executions.filter(wasThere).length
    if (waitingMax === null || there < waitingMax)
      say('I27', `the slot ${toRfc3339(from)} was skipped: ${there} waited, of at most ${waitingMax}`)
  }
}

/** Workers divide the limit anew when one comes or goes: not while something goes wrong. */
function checkRunning(
  { evidence, wasFaulty, say }: Context,
  tenantId: string,
  jobs: readonly CheckedJob[],
  runningMax: number | null,
): void {
  if (runningMax === null) return
  const attempts = jobs.flatMap(({ executions }) => executions.flatMap((one) => one.attempts))
  const steps = attempts.flatMap(({ startedAt, finishedAt, outcome }) =>
    startedAt === null || finishedAt === null || outcome === 'lost'
      ? []
      : [
          { at: startedAt, by: 1 },
          { at: finishedAt, by: -1 },
        ],
  )
  steps.sort((a, b) => a.at - b.at || a.by - b.by)
  const stops = stopsOf(evidence)
  let running = 0
  for (const { at, by } of steps) {
    running += by
    const before = { from: at - dividedMsMax, to: at }
    if (running <= runningMax || wasFaulty(null, before.from, at) || stops.some(during(before))) continue
    say('I27', `${running} of ${tenantId} ran at ${toRfc3339(at)}, of at most ${runningMax}`)
    return
  }
}

interface Span {
  from: number
  to: number
}

/** When servers were stopped by the book, and were down after it. */
function stopsOf({ faults, databaseAt }: Context['evidence']): Span[] {
  const stops = faults.filter(({ kind }) => kind === 'stop')
  return stops.map(({ fromMs, toMs }) => ({ from: databaseAt(fromMs), to: databaseAt(toMs) + downMsMax }))
}

function during(span: Span): (other: Span) => boolean {
  return ({ from, to }) => from <= span.to && to >= span.from
}

function chargesOf({ chargedAt }: Context['evidence'], tenantId: string): EpochMs[] {
  const own = [...chargedAt.values()].filter((charged) => charged.tenantId === tenantId)
  return own.map(({ at }) => at).toSorted((a, b) => a - b)
}
