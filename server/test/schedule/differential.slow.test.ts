// The engine against the oracle, on more cases than differential.test.ts has, and at every clock change there has been.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCron } from '../../src/domain/schedule/cron.ts'
import { compileCron } from '../../src/domain/schedule/cron-pattern.ts'
import { nextSlot } from '../../src/domain/schedule/next-run.ts'
import { findZone } from '../../src/domain/schedule/zone.ts'
import { epochMs } from '../../src/lib/time/epoch.ts'
import { fixedSeed, testAgreement } from './compare-with-oracle.ts'
import { oracleNext } from './oracle.ts'
import { changesOf } from './random-case.ts'

testAgreement(fixedSeed, 20_000)

const minutes = ['*/20', '5/25', '*', '0-59/30', '30']
const lastChange = Date.UTC(2040, 0, 1)

test('the engine and the oracle agree at every clock change of every zone from 1970 to 2040', (t) => {
  let compared = 0
  for (const zone of Intl.supportedValuesOf('timeZone')) {
    const found = findZone(zone)
    assert(found.ok)
    for (const change of changesOf(zone).filter((one) => one < lastChange)) {
      const before = Temporal.Instant.fromEpochMilliseconds(change - 1).toZonedDateTimeISO(zone)
      const hour = before.hour
      const hours = [`${hour}`, `${(hour + 1) % 24}`, `${hour}-${(hour + 2) % 24}`, '*']
      const expression = `${minutes[compared % 5]} ${hours[(compared >> 1) % 4]} * * *`
      const fields = parseCron(expression)
      assert(fields.ok)
      const pattern = compileCron(fields.value, found.value, {})
      assert(pattern.ok)
      for (const from of [change - 1, change + 1_799_000]) {
        const wanted = oracleNext({ expression, zone, from })
        assert.equal(nextSlot(pattern.value, epochMs(from)), wanted, `${expression} in ${zone} after ${from}`)
        compared++
      }
    }
  }
  t.diagnostic(`${compared} compared`)
})
