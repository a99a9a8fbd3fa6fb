// How PostgreSQL's values come to us: timestamptz as EpochMs, bigint and count as numbers.
import pg from 'pg'
import { epochMs } from '../lib/epoch.ts'

const timestamptzOid = 1184
const bigintOid = 20

const parseDate = pg.types.getTypeParser(timestamptzOid) as (text: string) => Date

export const rowTypes: pg.CustomTypesConfig = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    if (oid === timestamptzOid) return (text: string) => epochMs(parseDate(text).getTime())
    if (oid === bigintOid) return Number
    return pg.types.getTypeParser(oid, format as 'text')
  },
}
