// How PostgreSQL's values come to us: timestamptz as EpochMs, bigint and count as numbers.
import pg from 'pg'
import { type EpochMs, epochMs } from '../lib/epoch.ts'

const timestamptzOid = 1184
const bigintOid = 20

const parseDate = pg.types.getTypeParser(timestamptzOid) as (text: string) => Date

/** `2026-11-15 21:14:42.123+00`, as a server in UTC writes it; the driver's own reading takes ten times as long. */
const plainForm = /^(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,3}))?\+00$/

function parseInstant(text: string): EpochMs {
  const parts = plainForm.exec(text)
  if (parts === null) return epochMs(parseDate(text).getTime())
  const [, year, month, day, hour, minute, second, fraction = ''] = parts
  const ms = Number(fraction.padEnd(3, '0'))
  return Date.UTC(
    Number(year),
    Number(month) - 1,
    Number(day),
    Number(hour),
    Number(minute),
    Number(second),
    ms,
  ) as EpochMs
}

export const rowTypes: pg.CustomTypesConfig = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    if (oid === timestamptzOid) return parseInstant
    if (oid === bigintOid) return Number
    return pg.types.getTypeParser(oid, format as 'text')
  },
}
