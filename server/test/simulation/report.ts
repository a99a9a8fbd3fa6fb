// The output of `npm run sim`: a table of the events met, and for a failed seed everything needed to understand and to
// repeat it.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Violation } from './checker.ts'
import { minutesDefault, runSeed, type SeedReport } from './seed.ts'

const eventsMax = 200
const tailMax = 15
const argsLengthMax = 400
const saidMax = 5
const anId = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g

export function commandOf({ seed, minutes }: Pick<SeedReport, 'seed' | 'minutes'>): string {
  return `npm run sim -- --seed ${seed}${minutes === minutesDefault ? '' : ` --minutes ${minutes}`}`
}

/** Runs the seed once more, to record its events. */
export async function describeFailure(report: SeedReport): Promise<string> {
  const { seed, drawn, violations } = report
  const [first, ...others] = violations
  const events = await recordEvents(report, first!)
  const file = join(mkdtempSync(join(tmpdir(), 'carillon-sim-')), `seed-${seed}.trace`)
  writeFileSync(file, `${events.join('\n')}\n`)
  return [
    `seed ${seed} violates ${first!.invariant}: ${first!.what}`,
    `  ${first!.atMs === undefined ? 'found when all was over' : `at ${first!.atMs} ms`}`,
    ...others.slice(0, saidMax).map(({ invariant, what }) => `  then ${invariant}: ${what}`),
    ...(others.length > saidMax ? [`  and ${others.length - saidMax} more`] : []),
    `  ${versions()}`,
    `  drawn: ${JSON.stringify(drawn)}`,
    `  the last ${events.length} events: ${file}`,
    ...events.slice(-tailMax).map((event) => `    ${event.slice(0, 160)}`),
    `to repeat it: ${commandOf(report)}`,
  ].join('\n')
}

/** The last events before the violation was found; if it was found at the end, the events that name its subject. */
async function recordEvents({ seed, minutes }: SeedReport, violation: Violation): Promise<string[]> {
  const { what, atMs = Number.POSITIVE_INFINITY } = violation
  const ids = atMs === Number.POSITIVE_INFINITY ? (what.match(anId) ?? []) : []
  let events: string[] = []
  await runSeed(seed, minutes, {
    onEvent(at, server, event, args) {
      if (at > atMs) return
      const text = textOf(args)
      if (ids.length > 0 && args.length > 0 && !ids.some((id) => text.includes(id.slice(0, 34)))) return
      if (ids.length > 0 && server !== '' && args.length === 0) return
      events.push(`${Math.round(at)} ${server} ${event} ${text.slice(0, argsLengthMax)}`)
      if (events.length > 2 * eventsMax) events = events.slice(-eventsMax)
    },
  })
  return events.slice(-eventsMax)
}

function textOf(args: unknown[]): string {
  return args.length === 0 ? '' : JSON.stringify(args)
}

function versions(): string {
  const { node, icu, tz } = process.versions
  return `commit ${commit()}, node ${node}, ICU ${icu}, tzdata ${tz}`
}

function commit(): string {
  try {
    const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim()
    return `${git('rev-parse', '--short', 'HEAD')}${git('status', '--porcelain') === '' ? '' : ' with changes'}`
  } catch {
    return 'unknown'
  }
}

/** Sums over seeds. */
export class Totals {
  seeds = 0
  violations = 0
  simulatedMs = 0
  readonly seen = new Map<string, number>()
  readonly #tookMs: number[] = []

  add({ violations, seen, simulatedMs, tookMs }: SeedReport): void {
    this.seeds += 1
    this.violations += violations.length
    this.simulatedMs += simulatedMs
    this.#tookMs.push(tookMs)
    for (const [what, count] of Object.entries(seen)) this.seen.set(what, (this.seen.get(what) ?? 0) + count)
  }

  /** The given counters that were never met. */
  missing(counters: readonly string[]): string[] {
    return counters.filter((what) => (this.seen.get(what) ?? 0) === 0)
  }

  table(counters: readonly string[]): string {
    const took = this.#tookMs.toSorted((a, b) => a - b)
    const at = (share: number) =>
      Math.round(took[Math.min(took.length - 1, Math.floor(took.length * share))]!)
    const rows: [string, string | number][] = [
      ['seeds', this.seeds],
      ['violations', this.violations],
      ['executions', this.seen.get('executions') ?? 0],
      ['simulated hours', (this.simulatedMs / 3_600_000).toFixed(1)],
      ['ms a seed: median, p99, max', `${at(0.5)}, ${at(0.99)}, ${at(1)}`],
      ...counters.map((what): [string, number] => [`sometimes: ${what}`, this.seen.get(what) ?? 0]),
    ]
    const width = Math.max(...rows.map(([name]) => name.length))
    return rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n')
  }
}
