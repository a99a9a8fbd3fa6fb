// How PostgreSQL's values come to us: timestamptz as EpochMs, bigint and count as numbers.
import pg from 'pg'
import { type EpochMs, epochMs } from '../../lib/time/epoch.ts'

const timestamptzOid = 1184
const bigintOid = 20

const parseDate = pg.types.getTypeParser(timestamptzOid) as (text: string) => Date

let lastDayText = ''
let lastDayMs = 0

/**
 * `2026-11-15 21:14:42.123+00`, as a server in UTC writes it; anything else is left to the driver, which takes twenty
 * times as long. By character positions and not by pattern: a page of history has 200 of them. The day is the same for
 * most.
 */
function parseInstant(text: string): EpochMs {
  const isPlain = text.endsWith('+00') && plainLengths.includes(text.length) && text.charCodeAt(10) === space
  if (!isPlain) return epochMs(parseDate(text).getTime())
  const dayText = text.slice(0, 10)
  if (dayText !== lastDayText) {
    lastDayMs = Date.parse(dayText)
    lastDayText = dayText
  }
  const seconds = twoDigits(text, 11) * 3_600 + twoDigits(text, 14) * 60 + twoDigits(text, 17)
  let ms = 0
  for (let offset = 20, unit = 100; offset < text.length - 3; offset++, unit /= 10) {
    ms += (text.charCodeAt(offset) - zero) * unit
  }
  return (lastDayMs + seconds * 1_000 + ms) as EpochMs
}

/** Without a fraction, and with one to three digits of it. */
const plainLengths: readonly number[] = [22, 24, 25, 26]
const space = 32
const zero = 48

function twoDigits(text: string, offset: number): number {
  return (text.charCodeAt(offset) - zero) * 10 + text.charCodeAt(offset + 1) - zero
}

export const rowTypes: pg.CustomTypesConfig = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    if (oid === timestamptzOid) return parseInstant
    if (oid === bigintOid) return Number
    return pg.types.getTypeParser(oid, format as 'text')
  },
}
