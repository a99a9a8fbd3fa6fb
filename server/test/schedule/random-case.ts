// Random cron expressions, zones and instants for the differential and property tests: dense around clock
// changes, reproducible from a seed.

/** mulberry32: small, fast, good enough to choose test cases. */
export function seededRandom(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

type Random = () => number

const below = (random: Random, n: number) => Math.floor(random() * n)
const pick = <T>(random: Random, items: readonly T[]): T => items[below(random, items.length)]!

/** Zones with clock changes that have broken other engines, chosen more often than the rest. */
export const HARD_ZONES = [
  'America/New_York',
  'America/St_Johns',
  'America/Sao_Paulo',
  'America/Santiago',
  'America/Havana',
  'America/Nuuk',
  'Africa/Cairo',
  'Africa/Casablanca',
  'Africa/Monrovia',
  'Antarctica/Troll',
  'Asia/Amman',
  'Asia/Gaza',
  'Asia/Kathmandu',
  'Asia/Tehran',
  'Australia/Lord_Howe',
  'Europe/Dublin',
  'Europe/Lisbon',
  'Europe/London',
  'Pacific/Apia',
  'Pacific/Chatham',
  'Pacific/Kwajalein',
  'US/Eastern',
  'UTC',
] as const

const allZones = Intl.supportedValuesOf('timeZone')
const changes = new Map<string, number[]>()

export function randomZone(random: Random): string {
  return random() < 0.7 ? pick(random, HARD_ZONES) : pick(random, allZones)
}

/** An instant in milliseconds; three in four lie within hours of a clock change of the zone, if it has any. */
export function randomInstant(random: Random, zone: string): number {
  // Both ends of the engine's range: there local time is already, or still, another year.
  if (random() < 0.02) return below(random, 200_000) * 1000
  if (random() < 0.02) return (7_258_118_400 - below(random, 9_000_000)) * 1000
  const near = changesOf(zone)
  if (near.length === 0 || random() < 0.25)
    return below(random, random() < 0.2 ? 7_257_000_000 : 4_000_000_000) * 1000
  const spread = pick(random, [120, 7_200, 90_000])
  const offset = below(random, 2 * spread) - spread
  return Math.max(0, pick(random, near) + offset * 1000 + (random() < 0.1 ? below(random, 1000) : 0))
}

export function randomExpression(random: Random): string {
  const style = random()
  const minute = timeField(random, 60, style)
  const hour = random() < 0.3 ? '*' : timeField(random, 24, random())
  const [day, weekday] = dayFields(random)
  const month = random() < 0.75 ? '*' : monthField(random)
  const five = `${minute} ${hour} ${day} ${month} ${weekday}`
  const shape = random()
  if (shape < 0.75) return five
  const second = random() < 0.15 ? '*/20' : random() < 0.5 ? '0' : `${below(random, 60)}`
  return shape < 0.95 ? `${second} ${five}` : `${second} ${five} ${yearField(random)}`
}

function timeField(random: Random, size: number, style: number): string {
  const value = () => below(random, size)
  if (style < 0.4) return `${value()}`
  if (style < 0.5) return '*'
  if (style < 0.6) return `*/${1 + below(random, Math.min(size, 30))}`
  if (style < 0.67) return `${value()}/${1 + below(random, size)}`
  if (style < 0.8) return `${value()},${value()}`
  if (style < 0.9) return `${value()}-${value()}`
  if (style < 0.97) return `${value()}-${value()}/${1 + below(random, 12)}`
  return `0-${size - 1}`
}

const weekdays = [
  'SUN',
  'mon',
  'TUE',
  'Wed',
  'THU',
  'fri',
  'SAT',
  '0',
  '1',
  '2',
  '3',
  '4',
  '5',
  '6',
  '7',
] as const

function dayFields(random: Random): [string, string] {
  const kind = random()
  if (kind < 0.35) return [random() < 0.1 ? '?' : '*', '*']
  if (kind < 0.6) return [dayField(random), random() < 0.1 ? '?' : '*']
  if (kind < 0.85) return ['*', weekdayField(random)]
  return [random() < 0.1 ? '*/2' : dayField(random), `${random() < 0.1 ? '+' : ''}${weekdayField(random)}`]
}

function dayField(random: Random): string {
  const day = () => 1 + below(random, 31)
  const term = () => {
    const kind = random()
    if (kind < 0.35) return `${day()}`
    if (kind < 0.5) return `${day()}-${day()}`
    if (kind < 0.58) return `*/${1 + below(random, 20)}`
    if (kind < 0.64) return `${day()}/${1 + below(random, 20)}`
    if (kind < 0.74) return 'L'
    if (kind < 0.82) return `L-${1 + below(random, 30)}`
    if (kind < 0.92) return `${day()}W`
    return pick(random, ['LW', 'L-3W', 'lw'])
  }
  return random() < 0.7 ? term() : `${term()},${term()}`
}

function weekdayField(random: Random): string {
  const term = () => {
    const kind = random()
    const one = pick(random, weekdays)
    if (kind < 0.4) return one
    if (kind < 0.55) return `${one}-${pick(random, weekdays)}`
    if (kind < 0.59) return `*/${1 + below(random, 7)}`
    if (kind < 0.62) return `${below(random, 8)}/${1 + below(random, 7)}`
    if (kind < 0.67) return `${one}-${pick(random, weekdays)}/${1 + below(random, 3)}`
    if (kind < 0.87) return `${one}#${1 + below(random, 5)}`
    return pick(random, [`${one}L`, `${one}#L`])
  }
  return random() < 0.7 ? term() : `${term()},${term()}`
}

function monthField(random: Random): string {
  const month = () => 1 + below(random, 12)
  return pick(random, [
    `${month()}`,
    `${month()}-${month()}`,
    'FEB',
    'jan,JUL',
    `${month()},${month()}`,
    '*/3',
    '10-MAR',
  ])
}

function yearField(random: Random): string {
  const year = 1970 + below(random, 130)
  return pick(random, [`${year}`, `${year}-${year + 40}`, `${year}/7`, '*', `*/4`])
}

export function changesOf(zone: string): number[] {
  const known = changes.get(zone)
  if (known !== undefined) return known
  const found: number[] = []
  let at = Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(zone)
  for (;;) {
    const next = at.getTimeZoneTransition('next')
    if (next === null || next.epochMilliseconds > Date.UTC(2100, 0, 1)) break
    found.push(next.epochMilliseconds)
    at = next
  }
  changes.set(zone, found)
  return found
}
