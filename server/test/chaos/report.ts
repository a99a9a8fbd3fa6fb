// A run in a table for people, and in one line for programs.
import type { ChaosReport } from './run.ts'

export interface ReportJson {
  seed: number
  minutes: number
  faults: number
  kinds: Record<string, number>
  leftOut: readonly string[]
  executions: number
  attempts: number
  lost: number
  doubled: number
  duplicates: number
  probes: number
  failovers: number
  failoverMsP50: number | null
  failoverMsP95: number | null
  failoverMsMax: number | null
  reclaims: number
  reclaimMsMax: number | null
  /** From slot to call, where nothing was wrong. */
  lateMsP99: number | null
  drainMs: number
  violations: number
}

export function toJson({
  seed,
  minutes,
  leftOut,
  faults,
  drainMs,
  figures,
  violations,
}: ChaosReport): ReportJson {
  return {
    seed,
    minutes,
    faults: faults.length,
    kinds: Object.fromEntries(countKinds(faults.map(({ kind }) => kind))),
    leftOut,
    executions: figures.executions,
    attempts: figures.attempts,
    lost: figures.lost,
    doubled: figures.doubled,
    duplicates: figures.duplicates,
    probes: figures.probes,
    failovers: figures.failovers,
    failoverMsP50: quantile(figures.failoversMs, 0.5),
    failoverMsP95: quantile(figures.failoversMs, 0.95),
    failoverMsMax: figures.failoverMaxMs,
    reclaims: figures.reclaims,
    reclaimMsMax: figures.reclaimMaxMs,
    lateMsP99: figures.lateP99Ms,
    drainMs: Math.round(drainMs),
    violations: violations.length,
  }
}

/** Lines to print; `command` does the same again. */
export function toTable(report: ChaosReport, command: string): string[] {
  const { figures, violations, leftOut, dir } = report
  const json = toJson(report)
  const kinds = Object.entries(json.kinds).map(([kind, count]) => `${kind} ${count}`)
  const rows: [string, string][] = [
    ['seed, minutes', `${json.seed}, ${json.minutes}`],
    ['faults', `${json.faults}: ${kinds.join(', ')}`],
    ...leftOut.map((what): [string, string] => ['left out', what]),
    [
      'executions',
      `${count(json.executions)} in ${count(json.attempts)} attempts, of ${count(figures.jobs)} jobs`,
    ],
    [
      'operations',
      Object.entries(figures.operations)
        .map(([how, n]) => `${how} ${count(n)}`)
        .join(', '),
    ],
    ['lost', count(json.lost)],
    ['doubled (recorded)', count(json.doubled)],
    [
      'calls',
      `${count(figures.calls)} at the receiver, ${count(json.duplicates)} of them repeated, each with a recorded reason`,
    ],
    [
      'failover',
      `${json.failovers} kills judged: p50 ${seconds(json.failoverMsP50)}, p95 ${seconds(json.failoverMsP95)}, max ${seconds(json.failoverMsMax)} (bound 10 s)`,
    ],
    ['reclaim', `${json.reclaims} kills judged, max ${seconds(json.reclaimMsMax)} (bound 15 s)`],
    ['late', `p99 ${seconds(json.lateMsP99)} from slot to call, where nothing was wrong`],
    [
      'outage of 20 s',
      `${json.probes} calls of 30 s had to live through it in the attempt that was under way`,
    ],
    ['drained', `${seconds(json.drainMs)} after the last fault`],
    ['violations', count(json.violations)],
  ]
  const width = Math.max(...rows.map(([name]) => name.length))
  const lines = rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`)
  for (const { invariant, what } of violations.slice(0, shownMax)) lines.push(`  ${invariant}: ${what}`)
  if (violations.length > shownMax) lines.push(`  and ${violations.length - shownMax} more`)
  if (dir !== null) lines.push(`kept in ${dir}`)
  lines.push(`again: ${command}`)
  return lines
}

const shownMax = 40

function countKinds(kinds: readonly string[]): [string, number][] {
  return [...Map.groupBy(kinds, (kind) => kind)]
    .map(([kind, all]): [string, number] => [kind, all.length])
    .toSorted()
}

function quantile(sorted: readonly number[], share: number): number | null {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? null
}

function count(n: number): string {
  return n.toLocaleString('en-US')
}

function seconds(ms: number | null): string {
  return ms === null ? 'none' : `${(ms / 1_000).toFixed(1)} s`
}
