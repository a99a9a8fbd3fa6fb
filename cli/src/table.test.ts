import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Column, type Look, writeTable } from './table.ts'
import { clean, cut, widthOf } from './text.ts'

const look: Look = { terminal: true, width: 80, wide: false, paint: (text) => text }
const columns: readonly Column[] = [
  { title: 'ID', wideOnly: true },
  { title: 'NAME', flexible: true },
  { title: 'TOOK', align: 'right' },
  { title: 'ERROR', flexible: true, spare: true },
]
const rows = [
  ['1', 'short', { text: '2m', exact: '120000' }, ''],
  ['2', 'a much longer name of a job', '3s', 'HTTP 503'],
]

test('columns are aligned, numbers to the right, without blanks at the end', () => {
  assert.equal(
    writeTable(columns, rows, look),
    'NAME                         TOOK  ERROR\n' +
      'short                          2m\n' +
      'a much longer name of a job    3s  HTTP 503\n',
  )
})

test('no line is wider than the terminal: spare columns go first, then names are cut', () => {
  for (const width of [40, 30, 20]) {
    const text = writeTable(columns, rows, { ...look, width })
    for (const line of text.trimEnd().split('\n')) assert(widthOf(line) <= width, `${width}: ${line}`)
  }
  assert.match(writeTable(columns, rows, { ...look, width: 20 }), /^a much longer… {4}3s$/m)
})

test('--wide shows all columns, whole and exact', () => {
  const text = writeTable(columns, rows, { ...look, width: 20, wide: true })
  assert.match(text, /^ID {2}NAME/)
  assert.match(text, /^1 {3}short +120000$/m)
})

test('a pipe gets every column between tabs, exact, without a head', () => {
  const text = writeTable(columns, rows, { ...look, terminal: false })
  assert.equal(text, '1\tshort\t120000\t\n2\ta much longer name of a job\t3s\tHTTP 503\n')
})

test('text from other people cannot move the cursor, break a row or hide', () => {
  const hostile = 'a\u001b[2Jb\tc\nd\u202ee\u009bf'
  assert.equal(clean(hostile), 'a\\x1b[2Jb\\tc\\nd\\u{202e}e\\x9bf')
  for (const terminal of [true, false]) {
    const text = writeTable([{ title: 'NAME' }], [[hostile], [{ text: hostile, exact: hostile }]], {
      ...look,
      terminal,
    })
    for (const sign of ['\u001b', '\u202e', '\u009b', '\t']) assert(!text.includes(sign))
    assert.equal(text.trimEnd().split('\n').length, terminal ? 3 : 2)
  }
})

test('wide letters count as two columns', () => {
  assert.equal(widthOf('日本語'), 6)
  assert.equal(widthOf('🚀'), 2)
  assert.equal(widthOf('é'), 1)
  assert.equal(cut('日本語です', 7), '日本語…')
  const text = writeTable(
    columns,
    [
      ['1', '日本語', '1s', 'x'],
      ['2', 'abc', '1s', 'x'],
    ],
    look,
  )
  const [, first, second] = text.split('\n')
  assert.equal(widthOf(first!), widthOf(second!))
})
