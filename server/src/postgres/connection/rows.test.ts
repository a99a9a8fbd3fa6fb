import assert from 'node:assert/strict'
import test from 'node:test'
import { useDatabase } from '../../../test/database.ts'
import { rowTypes } from './rows.ts'

const parseInstant = rowTypes.getTypeParser(1184, 'text') as (text: string) => number

test('an instant is read as the database writes it, with any fraction, year and offset', () => {
  const read: [string, string][] = [
    ['2026-11-15 21:14:42+00', '2026-11-15T21:14:42.000Z'],
    ['2026-11-15 21:14:42.1+00', '2026-11-15T21:14:42.100Z'],
    ['2026-11-15 21:14:42.02+00', '2026-11-15T21:14:42.020Z'],
    ['2026-11-15 21:14:42.123+00', '2026-11-15T21:14:42.123Z'],
    ['2026-11-15 21:14:42.123999+00', '2026-11-15T21:14:42.123Z'],
    ['2024-02-29 23:59:59.999+00', '2024-02-29T23:59:59.999Z'],
    ['1969-12-31 23:59:59.9+00', '1969-12-31T23:59:59.900Z'],
    ['0001-01-01 00:00:00+00', '0001-01-01T00:00:00.000Z'],
    ['10000-01-01 00:00:00+00', '+010000-01-01T00:00:00.000Z'],
    ['2026-11-16 02:44:42.5+05:30', '2026-11-15T21:14:42.500Z'],
    ['2026-11-15 22:14:42.123+01', '2026-11-15T21:14:42.123Z'],
  ]
  for (const [text, instant] of read) assert.equal(new Date(parseInstant(text)).toISOString(), instant, text)
})

test('instants of many days, read one after the other, equal the ones that the database counts', async (t) => {
  const { database } = await useDatabase(t)
  const text = `
    SELECT at, (extract(epoch FROM at) * 1000)::bigint AS ms FROM (
      SELECT timestamptz '2026-01-01 00:00:00+00' + n * interval '4 hours 7 minutes 13.017 seconds' AS at
      FROM generate_series(1, 3000) AS n) x`
  const { rows } = await database.query<{ at: number; ms: number }>({ name: 'manyInstants', text }, [])
  for (const { at, ms } of rows) assert.equal(at, ms)
})
