// Holders of partitions and executions, as seen from outside: after a scheduler is killed its partitions are held again
// in time, after a worker is killed its executions are held by others in time, and when all is well every partition is
// held and no scheduler has far more than its share.
import type { AttemptRow } from './check-evidence.ts'
import { disturbances, type Picture } from './check-picture.ts'
import { at } from './check-slots.ts'
import type { FaultLine, WatchLine } from './history.ts'

/** An absent bound is not checked. */
export interface Bounds {
  failoverMsMax?: number
  reclaimMsMax?: number
}

/**
 * Milliseconds from each kill until everything it held has another holder, sorted; only kills with no other fault
 * nearby.
 */
export interface WatchFigures {
  /** Partitions of schedulers. */
  failoversMs: number[]
  failoverMaxMs: number | null
  /** Executions of workers. */
  reclaimsMs: number[]
  reclaimMaxMs: number | null
  failovers: number
  reclaims: number
}

/** A kill is followed this long, or up to the next fault if that comes later than the required bound. */
const followedMs = 30_000
/** An earlier fault may still have effects for this long. */
const beforeMs = 5_000
const failoverMs = 12_000
const reclaimMs = 17_000
/** Two kills at once are one. */
const atOnceMs = 1_500
/** After the last fault, how long things take to be as they were. */
const settledMs = 30_000

export function checkWatch(picture: Picture, bounds: Bounds): WatchFigures {
  const { evidence, say } = picture
  const failovers = findFailovers(picture)
  const reclaims = findReclaims(picture)
  const report = (found: readonly Taken[], max: number | undefined, invariant: string, what: string) => {
    for (const { tookMs, name, killedAt } of found)
      if (max !== undefined && tookMs > max)
        say(invariant, `${name} ${what} ${tookMs} ms after the kill at ${at(killedAt)}; ${max} at most`)
  }
  report(failovers, bounds.failoverMsMax, 'I10', 'was held again')
  report(reclaims, bounds.reclaimMsMax, 'I14', 'was held by another')
  const last = evidence.watch.at(-1)
  const lastFault = Math.max(0, ...evidence.faults.map((fault) => fault.until ?? fault.at))
  if (last !== undefined && evidence.readAt > lastFault + settledMs) checkSettled(picture, last)
  const [failoversMs, reclaimsMs] = [slowest(failovers), slowest(reclaims)]
  return {
    failovers: failoversMs.length,
    failoversMs,
    failoverMaxMs: failoversMs.at(-1) ?? null,
    reclaims: reclaimsMs.length,
    reclaimsMs,
    reclaimMaxMs: reclaimsMs.at(-1) ?? null,
  }
}

/** Of each kill. */
function slowest(found: readonly Taken[]): number[] {
  const byKill = Map.groupBy(found, ({ killedAt }) => killedAt)
  return [...byKill.values()]
    .map((taken) => Math.max(...taken.map(({ tookMs }) => tookMs)))
    .toSorted((a, b) => a - b)
}

interface Taken {
  name: string
  killedAt: number
  tookMs: number
}

/** Of kills that met no other fault; while the database was away too nobody could take over. */
function findFailovers({ evidence, say }: Picture): Taken[] {
  return followKills(evidence, 'scheduler', failoverMs).flatMap(({ fault, before, after, until }) => {
    const victims = victimsOf(fault, before.schedulers, after, (line) => line.schedulers)
    return before.holders.flatMap((holder, partition) => {
      if (holder === null || !victims.has(holder)) return []
      const name = `partition ${partition}`
      const again = after.find(({ holders }) => {
        const now = holders[partition] ?? null
        return now !== null && !victims.has(now)
      })
      if (again !== undefined) return [{ name, killedAt: fault.at, tookMs: again.at - fault.at }]
      say('I10', `${name} was held by nobody from the kill at ${at(fault.at)} to ${at(until)}`)
      return []
    })
  })
}

function findReclaims({ evidence, executions }: Picture): Taken[] {
  const lost = evidence.attempts.filter(({ outcome }) => outcome === 'lost')
  return followKills(evidence, 'worker', reclaimMs).flatMap(({ fault, before, after }) => {
    const victims = victimsOf(fault, before.workers, after, (line) => line.workers)
    const held = (row: AttemptRow) =>
      victims.has(row.workerId ?? '') &&
      (row.startedAt ?? row.enqueuedAt) <= fault.at &&
      row.recordedAt > fault.at
    return lost.filter(held).map((row) => {
      const next = executions.get(row.executionId)?.rows.find(({ attempt }) => attempt === row.attempt + 1)
      const again = next?.startedAt ?? next?.recordedAt ?? row.recordedAt
      return { name: row.executionId, killedAt: fault.at, tookMs: again - fault.at }
    })
  })
}

interface Followed {
  fault: FaultLine
  before: WatchLine
  after: readonly WatchLine[]
  until: number
}

/** Follows kills with no other fault from shortly before until recovery was due, except kills at the same moment. */
function followKills(
  { faults, watch, readAt }: Picture['evidence'],
  role: string,
  neededMs: number,
): Followed[] {
  const isOther = isKillOf(role)
  return faults.filter(isOther).flatMap((fault) => {
    const others = faults.filter(
      (one) => !isKillOf('api')(one) && !(isOther(one) && Math.abs(one.at - fault.at) <= atOnceMs),
    )
    const spans = others.flatMap(disturbances)
    const isDisturbed = spans.some(({ from, to }) => from <= fault.at && to >= fault.at - beforeMs)
    const next = spans.filter(({ from }) => from > fault.at).map(({ from }) => from)
    const until = Math.min(fault.at + followedMs, readAt, ...next)
    const before = watch.findLast((line) => line.at <= fault.at)
    if (before === undefined || isDisturbed || until - fault.at < neededMs) return []
    const after = watch.filter((line) => line.at > fault.at && line.at <= until)
    return [{ fault, before, after, until }]
  })
}

/** The ids that are gone for good soon after the kill; the kill names them if it can. */
function victimsOf(
  { details }: FaultLine,
  before: readonly string[],
  after: readonly WatchLine[],
  idsOf: (line: WatchLine) => readonly string[],
): ReadonlySet<string> {
  const named = details['ids']
  if (Array.isArray(named)) return new Set(named.map(String))
  const last = after.at(-1)
  return new Set(last === undefined ? [] : before.filter((id) => !idsOf(last).includes(id)))
}

function isKillOf(role: string): (fault: FaultLine) => boolean {
  return ({ kind, target }) => /kill/i.test(kind) && new RegExp(role).test(target)
}

function checkSettled({ evidence, say }: Picture, { schedulers }: WatchLine): void {
  const unheld = evidence.partitions.flatMap((holder, partition) => (holder === null ? [partition] : []))
  if (unheld.length > 0) say('I10', `partitions ${unheld.join(', ')} are held by nobody when all is well`)
  const shares = Map.groupBy(
    evidence.partitions.filter((holder) => holder !== null),
    (holder) => holder,
  )
  const most = Math.ceil(evidence.partitions.length / Math.max(1, schedulers.length)) + 1
  for (const [holder, held] of shares) {
    if (!schedulers.includes(holder))
      say('I8', `${held.length} partitions are held by ${holder}, which is none`)
    if (held.length > most) say('I10', `${holder} holds ${held.length} partitions, of at most ${most}`)
  }
}
