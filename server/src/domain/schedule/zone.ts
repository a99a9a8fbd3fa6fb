// Zone tables: every change of UTC offset of an IANA zone, read once through Temporal (or Intl, where that is missing)
// and kept as numbers, so that no search asks them again. Nothing here reads the host's own zone.
import { FIRST_SECOND, LAST_SECOND } from './civil.ts'
import { type Result, refuse } from './schedule-error.ts'
import { readByIntl } from './zone-intl.ts'
import { suggestZones } from './zone-names.ts'
import { readByTemporal, type ZoneReading } from './zone-temporal.ts'

export interface Zone {
  /** The IANA name as the database spells it; a link (`US/Eastern`) keeps its own name. */
  readonly id: string
  /** The one offset in seconds of a zone that never changes, else null. */
  readonly fixedOffset: number | null
  /** Segment k runs from starts[k] to starts[k + 1], in epoch seconds; the last entry only ends the last segment. */
  starts: Float64Array
  /** Offset from UTC of segment k in seconds. Seconds, not minutes: Liberia stood at -00:44:30 until 1972. */
  offsets: Int32Array
  /** The segment that holds the first second of each bucket of time: makes finding a segment one lookup. */
  firstInBucket: Uint16Array
}

/** Stored next runs must be computed again when this changes. */
export const ZONE_DATA_VERSION = process.versions['tz'] ?? 'unknown'

const zonesMax = 1_024
const nameLengthMax = 64
const bucketBits = 23 // 97 days
const bucketSeconds = 2 ** bucketBits
/** Read on first use; later years are read when a search first walks past this second (2101-01-01). */
const eagerUntil = 4_133_980_800

// The server refuses to run without Temporal; the SDK's test kit runs on Node 20.
const read = typeof Temporal === 'object' ? readByTemporal : readByIntl
const zones = new Map<string, Zone>()

export function findZone(name: string): Result<Zone> {
  const zone = knownZone(name)
  return zone === null ? unknownZone(name.slice(0, nameLengthMax)) : { ok: true, value: zone }
}

/** The zone of this name, in any case, or null. */
export function knownZone(name: string): Zone | null {
  if (name.length > nameLengthMax) return null
  const key = name.toLowerCase()
  const known = zones.get(key)
  if (known !== undefined) return known
  const zone = readZone(name)
  if (zone === null) return null
  if (zones.size >= zonesMax) zones.delete(zones.keys().next().value!)
  zones.set(key, zone)
  return zone
}

/** Index of the segment that holds an epoch second within the engine's range. */
export function segmentAt(zone: Zone, second: number): number {
  if (second >= zone.starts[zone.starts.length - 1]!) extendZone(zone)
  const starts = zone.starts
  let k = zone.firstInBucket[(second / bucketSeconds) | 0]!
  while (starts[k + 1]! <= second) k++
  return k
}

export function offsetAt(zone: Zone, second: number): number {
  if (zone.fixedOffset !== null) return zone.fixedOffset
  const k = segmentAt(zone, Math.min(Math.max(second, FIRST_SECOND), LAST_SECOND - 1))
  return zone.offsets[k]! // only now: finding the segment may have grown the table
}

/** Grows the table to the end of the engine's range, if it does not reach it; true if it grew. No answer changes. */
export function extendZone(zone: Zone): boolean {
  if (zone.starts[zone.starts.length - 1]! >= LAST_SECOND) return false
  fill(zone, read(zone.id)!, LAST_SECOND)
  return true
}

function unknownZone(name: string): Result<never> {
  const suggestions = suggestZones(name)
  const hint = suggestions.length === 0 ? '' : ` Did you mean ${suggestions.join(' or ')}?`
  return refuse('UNKNOWN_ZONE', `"${name}" is not a time zone of the IANA database.${hint}`, {
    field: 'timezone',
    allowed: 'an IANA zone name such as Europe/London, or UTC',
    suggestions,
  })
}

function readZone(name: string): Zone | null {
  const reading = read(name)
  if (reading === null) return null
  const zone: Zone = {
    id: reading.id,
    fixedOffset: reading.isFixed ? reading.segments(LAST_SECOND).offsets[0]! : null,
    starts: new Float64Array(0),
    offsets: new Int32Array(0),
    firstInBucket: new Uint16Array(0),
  }
  fill(zone, reading, reading.isFixed ? LAST_SECOND : eagerUntil)
  return zone
}

function fill(zone: Zone, reading: ZoneReading, until: number): void {
  const { starts, offsets } = reading.segments(until)
  const firstInBucket = new Uint16Array(Math.floor(until / bucketSeconds) + 1)
  for (let bucket = 0, k = 0; bucket < firstInBucket.length; bucket++) {
    while (starts[k + 1]! <= bucket * bucketSeconds) k++
    firstInBucket[bucket] = Math.min(k, offsets.length - 1)
  }
  zone.starts = Float64Array.from(starts)
  zone.offsets = Int32Array.from(offsets)
  zone.firstInBucket = firstInBucket
}
