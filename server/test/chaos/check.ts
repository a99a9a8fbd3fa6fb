// The independent checker of a chaos run: node check.ts DIR URL. It reads the tables, the receiver's log, the API
// history and the lists of faults and holders, works out on its own the expected events, and reports every mismatch. It
// knows nothing of how the stages work. Invariant numbers are from docs/internals/invariants.md.
import { checkCalls } from './check-calls.ts'
import { type Evidence, readEvidence } from './check-evidence.ts'
import { checkExecutions } from './check-executions.ts'
import { checkGraphs } from './check-graphs.ts'
import { checkHistory } from './check-history.ts'
import { checkLimits } from './check-limits.ts'
import { nameRuns } from './check-old-version.ts'
import { draw, type Picture } from './check-picture.ts'
import { checkProbes, type ProbeFigures } from './check-probes.ts'
import { checkSlots } from './check-slots.ts'
import { type Bounds, checkWatch, type WatchFigures } from './check-watch.ts'

export interface Violation {
  /** Such as I1. */
  invariant: string
  /** With the rows that it is about. */
  what: string
}

export interface Verdict {
  violations: Violation[]
  figures: Figures
}

export interface Figures extends WatchFigures, ProbeFigures {
  jobs: number
  /** Slots that were due. */
  slots: number
  skips: Record<string, number>
  executions: number
  byOutcome: Record<string, number>
  attempts: number
  lostAttempts: number
  /** Attempts that ended otherwise than lost or cancelled, and that nobody has called: their worker never knew of them. */
  uncalled: number
  calls: number
  /** Calls beyond the recorded ones: each has a reason, or is a violation. */
  duplicates: number
  /** Acknowledged or due, and without an end. */
  lost: number
  /** Two ends for one slot, key or execution. */
  doubled: number
  operations: Record<string, number>
  faults: number
  /** From slot to call, of first calls that waited for nobody and met no fault. */
  lateP99Ms: number | null
}

export async function check({
  dir,
  databaseUrl,
  bounds = {},
}: {
  dir: string
  databaseUrl: string
  bounds?: Bounds
}): Promise<Verdict> {
  return judge(await readEvidence(dir, databaseUrl), bounds)
}

/** Most violations kept per invariant. */
const saidMax = 500

export function judge(evidence: Evidence, bounds: Bounds = {}): Verdict {
  const violations: Violation[] = []
  const said = new Map<string, number>()
  const picture = draw(nameRuns(evidence), (invariant, what) => {
    const times = (said.get(invariant) ?? 0) + 1
    said.set(invariant, times)
    // An invariant that is broken throughout would fill the memory: the first violations are enough.
    if (times <= saidMax) violations.push({ invariant, what })
  })
  checkSlots(picture)
  checkExecutions(picture)
  checkLimits(picture)
  checkGraphs(picture)
  checkHistory(picture)
  const calls = checkCalls(picture)
  const watch = checkWatch(picture, bounds)
  const probes = checkProbes(picture)
  return { violations, figures: { ...count(picture, violations), ...calls, ...watch, ...probes } }
}

function count(picture: Picture, violations: readonly Violation[]) {
  const { evidence, jobs, executions, operations } = picture
  const skips: Record<string, number> = {}
  for (const { reason, count: slots } of evidence.skips) skips[reason] = (skips[reason] ?? 0) + slots
  const byOutcome: Record<string, number> = {}
  for (const { last } of executions.values()) byOutcome[last.outcome] = (byOutcome[last.outcome] ?? 0) + 1
  const endings: Record<string, number> = {}
  for (const { ending } of operations) endings[ending] = (endings[ending] ?? 0) + 1
  return {
    jobs: jobs.length,
    slots: jobs.reduce((sum, { expected }) => sum + expected.length, 0),
    skips,
    executions: executions.size,
    byOutcome,
    attempts: evidence.attempts.length,
    lost: violations.filter(
      ({ invariant, what }) => /is lost|has no record|not there/.test(what) && /^I(1|14|22)$/.test(invariant),
    ).length,
    doubled:
      violations.filter(({ invariant }) => /^I(3|21|25)$/.test(invariant)).length +
      violations.filter(({ invariant, what }) => invariant === 'I11' && what.includes('times')).length,
    operations: endings,
    faults: evidence.faults.length,
    lateP99Ms: lateness(picture),
  }
}

function lateness({ executions, jobs, wasFaulty }: Picture): number | null {
  const plain = new Set(
    jobs
      .filter(({ versions }) =>
        versions.values().every(({ overlap, limit, key, jitterSeconds }) => {
          const isFree = overlap === 'ALLOW' || overlap === 'SKIP'
          return isFree && limit === null && key === null && jitterSeconds === 0
        }),
      )
      .map(({ job }) => job.jobId),
  )
  const late = [...executions.values()]
    .filter(({ first, calls, jobId }) => first.kind === 'slot' && calls.length > 0 && plain.has(jobId))
    .filter(({ first, calls }) => !wasFaulty(first.slot, calls[0]!.at))
    .map(({ first, calls }) => calls[0]!.at - first.slot)
    .toSorted((a, b) => a - b)
  return late[Math.floor(late.length * 0.99)] ?? null
}

if (import.meta.main) {
  const [dir, databaseUrl] = process.argv.slice(2)
  if (dir === undefined || databaseUrl === undefined) throw new Error('node check.ts DIR URL')
  const { violations, figures } = await check({ dir, databaseUrl })
  for (const { invariant, what } of violations) process.stdout.write(`${invariant}: ${what}\n`)
  process.stdout.write(`${JSON.stringify(figures, null, 2)}\n${violations.length} violations\n`)
  process.exitCode = violations.length === 0 ? 0 : 1
}
