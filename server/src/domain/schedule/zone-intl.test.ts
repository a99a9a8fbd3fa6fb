import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LAST_SECOND } from './civil.ts'
import { readByIntl } from './zone-intl.ts'
import { readByTemporal } from './zone-temporal.ts'

function assertSame(name: string, until: number): void {
  const [one, other] = [readByIntl(name), readByTemporal(name)]
  assert.ok(one !== null && other !== null, name)
  assert.equal(one.id, other.id, name)
  assert.deepEqual(one.segments(until), other.segments(until), `${name} until ${until}`)
}

test('without Temporal every zone has the same changes of its clock, from 1970 to 2040', () => {
  for (const name of Intl.supportedValuesOf('timeZone')) assertSame(name, 2_208_988_800)
})

test('without Temporal also far ahead, by other names, and where the clock never changes', () => {
  const strange = [
    'Asia/Gaza',
    'Africa/Casablanca',
    'Africa/Monrovia',
    'Australia/Lord_Howe',
    'Antarctica/Troll',
  ]
  const links = ['US/Eastern', 'Asia/Calcutta', 'GB', 'Etc/GMT+5', 'utc', 'europe/paris']
  for (const name of [...strange, ...links, 'Asia/Tokyo', '+05:30', '-0330', '+00']) {
    assertSame(name, 4_133_980_800)
    assertSame(name, LAST_SECOND)
    assert.equal(readByIntl(name)!.isFixed, readByTemporal(name)!.isFixed, name)
  }
})

test('without Temporal a name that is not a zone is refused', () => {
  for (const name of ['Mars/Olympus_Mons', '', ' ', '+25:00', '../etc/passwd', '\u0000', 'new york']) {
    assert.equal(readByIntl(name), null, name)
  }
})
