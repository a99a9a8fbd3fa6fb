import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { SCHEDULE_WARNING_CODES } from '../../src/domain/schedule/preview-warnings.ts'
import { SCHEDULE_ERROR_CODES } from '../../src/domain/schedule/schedule-error.ts'
import { compiled, cron, runsAfter } from './list-runs.ts'

const page = readFileSync(new URL('../../../docs/schedules.md', import.meta.url), 'utf8')
const section = (name: string) => page.split(`\n## ${name}\n`)[1]!.split('\n## ')[0]!
const firstCells = (text: string) => [...text.matchAll(/^\| (`.*?) \|/gm)].map((match) => match[1]!)
const quoted = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1]!)

test('the page lists every refusal and every warning, and no other', () => {
  const listed = firstCells(section('Validation errors')).flatMap(quoted)
  assert.deepEqual(listed.toSorted(), [...SCHEDULE_ERROR_CODES, ...SCHEDULE_WARNING_CODES].toSorted())
})

test('every expression and sentence on the page is accepted', () => {
  const texts = [
    ...firstCells(section('Cron')),
    ...firstCells(section('Intervals')),
    ...firstCells(section('English')),
  ]
    .flatMap(quoted)
    .filter((text) => text !== 'R/…')
  assert.ok(texts.length > 45)
  for (const text of texts) assert.doesNotThrow(() => compiled(text), text)
})

test('every sentence on the page becomes the schedule that the page gives for it', () => {
  for (const match of section('English').matchAll(/^\| `([^`]+)` \| `([^`]+)`/gm)) {
    const [, sentence, becomes] = match as unknown as [string, string, string]
    const runs = runsAfter(sentence, '2026-01-01T00:00:00Z', 3)
    if (!becomes.startsWith('P')) {
      const zone = /London/.test(sentence) ? 'Europe/London' : 'UTC'
      assert.deepEqual(runs, runsAfter(cron(becomes, zone), '2026-01-01T00:00:00Z', 3), sentence)
    }
  }
})

test('the worked examples of clock changes match the behaviour of the engine', () => {
  const rows = [...section('Clock changes').matchAll(/^\| `([^`]+)` \| ([^|]+) \| ([^|]+) \|$/gm)]
  assert.equal(rows.length, 8)
  for (const row of rows) {
    const [, expression, march, november] = row as unknown as [string, string, string, string]
    for (const [said, day, offset] of [
      [march, '2026-03-08', 5],
      [november, '2026-11-01', 4],
    ] as const) {
      const times: string[] = said.match(/\d\d:\d\d/g) ?? []
      const before = new Date(Date.parse(`${day}T0${offset}:00:00Z`) - 1).toISOString()
      const runs = runsAfter(cron(expression, 'America/New_York'), before, times.length + 1).map((run) =>
        new Date(run).toLocaleString('sv', { timeZone: 'America/New_York' }).slice(0, 16),
      )
      const wanted = times.map((time) => `${day} ${time}`)
      assert.deepEqual(runs.slice(0, times.length), wanted, expression)
      // A row that names times within a single hour names all of them: the next run is on another day.
      if (/ [\d,]+ \* \* \*$/.test(expression)) assert.notEqual(runs.at(-1)!.slice(0, 10), day, expression)
    }
  }
})
