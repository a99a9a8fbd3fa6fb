import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '../../../test/schedule/random-case.ts'
import { findZone, offsetAt, ZONE_DATA_VERSION } from './zone.ts'

test('every zone that Node knows has the offsets that Temporal gives, from 1970 to 2199', () => {
  const random = seededRandom(1970)
  for (const name of Intl.supportedValuesOf('timeZone')) {
    const zone = findZone(name)
    assert.ok(zone.ok, name)
    const { starts } = zone.value
    const near = Array.from(
      { length: 12 },
      () => starts[Math.floor(random() * starts.length)]! + Math.floor(random() * 5) - 2,
    )
    const anywhere = Array.from({ length: 12 }, () => Math.floor(random() * 7_258_000_000))
    for (const second of [...near, ...anywhere].filter((value) => value >= 0)) {
      const wanted =
        Temporal.Instant.fromEpochMilliseconds(second * 1000).toZonedDateTimeISO(name).offsetNanoseconds / 1e9
      assert.equal(offsetAt(zone.value, second), wanted, `${name} at ${second}`)
    }
  }
})

test('no segment is shorter than its clock change, which the search relies on', () => {
  for (const name of Intl.supportedValuesOf('timeZone')) {
    const zone = findZone(name)
    assert.ok(zone.ok)
    const { starts, offsets } = zone.value
    for (let k = 1; k < offsets.length; k++) {
      const shift = Math.abs(offsets[k]! - offsets[k - 1]!)
      assert.ok(starts[k + 1]! - starts[k]! > shift, `${name} ${k}`)
      assert.ok(shift > 0)
    }
  }
})

test('links and any letter case are zones; a link keeps its name', () => {
  for (const [given, id] of [
    ['US/Eastern', 'US/Eastern'],
    ['us/eastern', 'US/Eastern'],
    ['EUROPE/LONDON', 'Europe/London'],
    ['utc', 'UTC'],
    ['Asia/Calcutta', 'Asia/Calcutta'],
    ['+05:30', '+05:30'],
  ] as const) {
    const zone = findZone(given)
    assert.ok(zone.ok, given)
    assert.equal(zone.value.id, id)
  }
  const [link, target] = [findZone('US/Eastern'), findZone('America/New_York')]
  assert.ok(link.ok && target.ok)
  for (let month = 0; month < 600; month++) {
    const second = month * 2_629_746
    assert.equal(offsetAt(link.value, second), offsetAt(target.value, second))
  }
})

test('a zone has one table, regardless of the case of its name', () => {
  const [one, other] = [findZone('Europe/Paris'), findZone('europe/PARIS')]
  assert.ok(one.ok && other.ok)
  assert.equal(one.value, other.value)
})

test('an unknown zone is refused with the nearest names', () => {
  for (const [given, near] of [
    ['Europe/Lodon', 'Europe/London'],
    ['America/NewYork', 'America/New_York'],
    ['New York', 'America/New_York'],
    ['Z', 'UTC'],
    ['Asia/Tokio', 'Asia/Tokyo'],
  ] as const) {
    const zone = findZone(given)
    assert.ok(!zone.ok, given)
    assert.equal(zone.error.code, 'UNKNOWN_ZONE')
    assert.ok(zone.error.suggestions.includes(near), `${given}: ${zone.error.suggestions}`)
    assert.match(zone.error.message, new RegExp(near))
  }
  for (const nonsense of ['Mars/Olympus_Mons', '', ' ', 'x'.repeat(5_000), '../etc/passwd', '\u0000']) {
    const zone = findZone(nonsense)
    assert.ok(!zone.ok && zone.error.message.length < 300)
  }
})

test('the version of the zone data is known, to notice when stored runs must be computed again', () => {
  assert.match(ZONE_DATA_VERSION, /^\d{4}[a-z]$/)
})
