// `npm run bench:schedule`: the schedule engine compared with croner and cron-parser, in one run, rounds interleaved so
// that a slow moment of the machine hits all three. Then memory of a million schedules, and the dearest input found.
import { spawnSync } from 'node:child_process'
import { parseCron } from '@carillon/server/domain/schedule/cron.ts'
import { type CronPattern, compileCron } from '@carillon/server/domain/schedule/cron-pattern.ts'
import { nextSlot } from '@carillon/server/domain/schedule/next-run.ts'
import { findZone } from '@carillon/server/domain/schedule/zone.ts'
import type { EpochMs } from '@carillon/server/lib/time/epoch.ts'
import { CronExpressionParser } from 'cron-parser'
import { Cron } from 'croner'
import { measureMemory } from './schedule-memory.ts'

const patterns = [
  { expression: '*/5 * * * *', zones: ['UTC', 'America/New_York'] },
  { expression: '0 10 * * *', zones: ['UTC', 'America/New_York'] },
  { expression: '0 0 L * *', zones: ['UTC', 'America/New_York'] },
  { expression: '0 0 29 2 *', zones: ['UTC', 'America/New_York'] },
  { expression: '15 10 15W * *', zones: ['UTC', 'America/New_York'] },
  { expression: '0 30 1 * * SUN#1', zones: ['UTC', 'America/New_York'] },
]
const starts = 4_096
const rounds = 7
const warmUpMs = 250
const turnMs = 15
const goals = { nextPerSecond: 5_000_000, croner: 200, cronParser: 100, parsed: 20 }

const random = seeded(1)
const fromMs = Date.UTC(2026, 0, 1)
const at = Float64Array.from({ length: starts }, () => fromMs + Math.floor(random() * 63_072_000) * 1000)
const dates = Array.from(at, (ms) => new Date(ms))

interface Row {
  name: string
  ours: number
  croner: number
  cronParser: number | null
}

/** One measured thing: `turn(n)` does n operations. The sum keeps the work from being optimised away. */
type Turn = (operations: number) => number

let sink = 0

console.log(`node ${process.version}, tz ${process.versions['tz']}, ${rounds} interleaved rounds, medians\n`)
const compiled = patterns.flatMap(({ expression, zones }) =>
  zones.map((zone) => compiledRow(expression, zone)),
)
print('compiled next-run', compiled, 'ns')
const parsed = patterns.flatMap(({ expression, zones }) => zones.map((zone) => parsedRow(expression, zone)))
print('parse (uncached) + next-run', parsed, 'ns')
judge()
measureMemory()
// A process of its own, where nothing has been compiled, cached or warmed by the measurements above.
spawnSync(process.execPath, [new URL('schedule-hunt.ts', import.meta.url).pathname], { stdio: 'inherit' })
if (sink === 42) console.log(sink)

function compiledRow(expression: string, zone: string): Row {
  const pattern = compile(expression, zone)
  const croner = new Cron(expression, { timezone: zone, paused: true })
  const parser = tryParser(expression, zone)
  const [ours, theirs, others] = race([
    (n) => {
      let sum = 0
      for (let i = 0; i < n; i++) sum += nextSlot(pattern, at[i & (starts - 1)] as EpochMs) as number
      return sum
    },
    (n) => {
      let sum = 0
      for (let i = 0; i < n; i++) sum += croner.nextRun(dates[(i * 37) & (starts - 1)]!)!.getTime()
      return sum
    },
    parser === null
      ? null
      : (n) => {
          let sum = 0
          for (let i = 0; i < n; i++) {
            parser.reset(dates[(i * 37) & (starts - 1)]!)
            sum += parser.next().getTime()
          }
          return sum
        },
  ])
  return { name: `${expression} ${zone}`, ours: ours!, croner: theirs!, cronParser: others ?? null }
}

function parsedRow(expression: string, zone: string): Row {
  const supported = tryParser(expression, zone) !== null
  const [ours, theirs, others] = race([
    (n) => {
      let sum = 0
      for (let i = 0; i < n; i++)
        sum += nextSlot(compile(expression, zone), at[i & (starts - 1)] as EpochMs) as number
      return sum
    },
    (n) => {
      let sum = 0
      for (let i = 0; i < n; i++) {
        const cron = new Cron(expression, { timezone: zone, paused: true })
        sum += cron.nextRun(dates[(i * 37) & (starts - 1)]!)!.getTime()
      }
      return sum
    },
    supported
      ? (n) => {
          let sum = 0
          for (let i = 0; i < n; i++) {
            const currentDate = dates[(i * 37) & (starts - 1)]!
            sum += CronExpressionParser.parse(expression, { tz: zone, currentDate }).next().getTime()
          }
          return sum
        }
      : null,
  ])
  return { name: `${expression} ${zone}`, ours: ours!, croner: theirs!, cronParser: others ?? null }
}

/** Nanoseconds per operation of each turn: the median over rounds, each round running all of them for as long. */
function race(turns: (Turn | null)[]): (number | null)[] {
  const operations = turns.map((turn) => (turn === null ? 0 : warmUp(turn)))
  const samples: number[][] = turns.map(() => [])
  for (let round = 0; round < rounds; round++) {
    turns.forEach((turn, i) => {
      if (turn !== null) samples[i]!.push(time(turn, operations[i]!) / operations[i]!)
    })
  }
  return samples.map((list) => (list.length === 0 ? null : list.toSorted((a, b) => a - b)[list.length >> 1]!))
}

/** Runs until the optimising compiler has settled, and finds how many operations fill one turn. */
function warmUp(turn: Turn): number {
  const begin = performance.now()
  let operations = 32
  let spent = 0
  while (performance.now() - begin < warmUpMs || spent < turnMs * 1e6) {
    spent = time(turn, operations)
    if (spent < turnMs * 1e6) operations *= 2
  }
  return operations
}

function time(turn: Turn, operations: number): number {
  const begin = process.hrtime.bigint()
  sink += turn(operations) % 7
  return Number(process.hrtime.bigint() - begin)
}

/** Uncached on purpose: text to first answer, as if never seen before. */
function compile(expression: string, zoneName: string): CronPattern {
  const fields = parseCron(expression)
  const zone = findZone(zoneName)
  if (!fields.ok || !zone.ok) throw new Error(`${expression} ${zoneName} is refused`)
  const pattern = compileCron(fields.value, zone.value, {})
  if (!pattern.ok) throw new Error(pattern.error.message)
  return pattern.value
}

function tryParser(expression: string, zone: string) {
  try {
    return CronExpressionParser.parse(expression, { tz: zone })
  } catch {
    return null // cron-parser has no W
  }
}

function print(title: string, rows: Row[], unit: string): void {
  console.log(title)
  const head = [
    'pattern',
    `ours ${unit}`,
    'ours /s',
    `croner ${unit}`,
    'ratio',
    `cron-parser ${unit}`,
    'ratio',
  ]
  const lines = rows.map((row) => [
    row.name,
    row.ours.toFixed(row.ours < 100 ? 1 : 0),
    Math.round(1e9 / row.ours).toLocaleString('en'),
    Math.round(row.croner).toLocaleString('en'),
    `${Math.round(row.croner / row.ours)}x`,
    row.cronParser === null ? 'refused' : Math.round(row.cronParser).toLocaleString('en'),
    row.cronParser === null ? '-' : `${Math.round(row.cronParser / row.ours)}x`,
  ])
  const widths = head.map((name, i) => Math.max(name.length, ...lines.map((line) => line[i]!.length)))
  for (const line of [head, ...lines]) {
    console.log(
      line.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  '),
    )
  }
  console.log('')
}

function judge(): void {
  const worst = (rows: Row[], of: (row: Row) => number) => Math.min(...rows.map(of))
  const versus = (row: Row) =>
    row.cronParser === null ? Number.POSITIVE_INFINITY : row.cronParser / row.ours
  const lines: [string, number, number][] = [
    ['slowest pattern, next/s', worst(compiled, (row) => 1e9 / row.ours), goals.nextPerSecond],
    ['least ratio to croner, compiled', worst(compiled, (row) => row.croner / row.ours), goals.croner],
    ['least ratio to cron-parser, compiled', worst(compiled, versus), goals.cronParser],
    ['least ratio to croner, with parsing', worst(parsed, (row) => row.croner / row.ours), goals.parsed],
    ['least ratio to cron-parser, with parsing', worst(parsed, versus), goals.parsed],
  ]
  for (const [name, value, goal] of lines) {
    const verdict = value >= goal ? 'met' : 'NOT MET'
    console.log(
      `${name}: ${Math.round(value).toLocaleString('en')} (goal ${goal.toLocaleString('en')}): ${verdict}`,
    )
  }
  console.log('')
}

function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
    return (state >>> 0) / 4_294_967_296
  }
}
