// Rows of an early schema, kept as COPY text, loaded as if they had been written in the days before today. The file's
// times lie around `fileDay`, which becomes yesterday; ids that carry a time from that period are shifted too.
import { readFile } from 'node:fs/promises'
import type pg from 'pg'

const dayMs = 86_400_000
const fileDay = Date.UTC(2026, 2, 6)
const fileDays = 10

export interface CopyBlock {
  table: string
  rows: Record<string, string | null>[]
}

export async function readCopyText(file: string, nowMs: number): Promise<CopyBlock[]> {
  const shiftMs = Math.floor(nowMs / dayMs) * dayMs - dayMs - fileDay
  const text = shiftTimes(await readFile(file, 'utf8'), shiftMs)
  const blocks = text.matchAll(/^COPY (\w+) \((.*)\) FROM stdin;\n([\s\S]*?)^\\\.$/gm)
  return [...blocks].map(([, table, columns, lines]) => {
    const names = columns!.split(', ')
    const rows = lines!
      .split('\n')
      .filter((line) => line !== '')
      .map((line) =>
        Object.fromEntries(line.split('\t').map((cell, index) => [names[index]!, toValue(cell)])),
      )
    return { table: table!, rows }
  })
}

export async function loadCopyText(client: pg.Client, blocks: readonly CopyBlock[]): Promise<void> {
  const days = new Set(
    blocks.flatMap(({ rows }) => rows.map(({ recorded_at, slot }) => (recorded_at ?? slot)?.slice(0, 10))),
  )
  for (const day of days) {
    if (day === undefined) continue
    await client.query(`SELECT make_day('slots', $1::date), make_day('attempts', $1::date)`, [day])
  }
  for (const { table, rows } of blocks) {
    for (const row of rows) {
      const columns = Object.keys(row)
      const values = columns.map((_, index) => `$${index + 1}`)
      await client.query(
        `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${values.join(', ')})`,
        Object.values(row),
      )
    }
  }
}

function toValue(cell: string): string | null {
  if (cell === '\\N') return null
  return cell.replace(/\\(.)/g, (_, letter: string) => ({ t: '\t', n: '\n' })[letter] ?? letter)
}

/** Timestamps, milliseconds and the time in UUIDv7, as far as they lie in the days of the file. */
function shiftTimes(text: string, shiftMs: number): string {
  const isOfFile = (ms: number) => Math.abs(ms - fileDay) < fileDays * dayMs
  return text
    .replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\+00/g, (found) =>
      new Date(Date.parse(found.replace(' ', 'T').replace('+00', 'Z')) + shiftMs)
        .toISOString()
        .replace('T', ' ')
        .replace('Z', '+00'),
    )
    .replace(/\b\d{13}\b/g, (found) => (isOfFile(Number(found)) ? String(Number(found) + shiftMs) : found))
    .replace(/\b([0-9a-f]{8})-([0-9a-f]{4})-(?=7[0-9a-f]{3}-)/g, (found, high: string, low: string) => {
      const ms = Number.parseInt(high + low, 16)
      if (!isOfFile(ms)) return found
      const moved = (ms + shiftMs).toString(16).padStart(12, '0')
      return `${moved.slice(0, 8)}-${moved.slice(8)}-`
    })
}
