import assert from 'node:assert/strict'
import { test } from 'node:test'
import { at, refusal } from '../../../../test/schedule/list-runs.ts'
import { compileSchedule } from '../compile-schedule.ts'
import { SCHEDULE_ERROR_CODES } from '../schedule-error.ts'

const context = { createdAt: at('2026-11-15T21:00:00Z') } // a Sunday

function became(text: string): string {
  const answer = compileSchedule(text, context)
  assert.ok(answer.ok, `${text}: ${JSON.stringify(answer)}`)
  const { cron_expression, interval, timezone, start_at } = answer.value.definition
  return [cron_expression ?? interval, timezone, start_at].filter((part) => part !== undefined).join(' | ')
}

const sentences: [string, string][] = [
  ['every day at 10:00 AM', '0 10 * * *'],
  ['every 15 minutes between 9 and 17 on weekdays', '*/15 9-16 * * 1-5'],
  ['last friday of the month at 18:30 in Europe/London', '30 18 * * 5L | Europe/London'],
  ['weekdays at 9 in London', '0 9 * * 1-5 | Europe/London'],
  ['Every Weekday at 9am, New York time', '0 9 * * 1-5 | America/New_York'],
  ['every minute', '* * * * *'],
  ['every second', '* * * * * *'],
  ['every 10 seconds', '*/10 * * * * *'],
  ['every thirty minutes', '*/30 * * * *'],
  ['every half hour', '*/30 * * * *'],
  ['hourly', '0 * * * *'],
  ['every hour at :15', '15 * * * *'],
  ['every hour at 15 minutes past the hour', '15 * * * *'],
  ['every hour from 9:00 to 17:00', '0 9-17 * * *'],
  ['every 2 hours from 8am to 6pm', '0 8-18/2 * * *'],
  ['every 2 hours', '0 */2 * * *'],
  ['every 5 minutes between 10pm and 2am', '*/5 22-1 * * *'],
  ['daily', '0 0 * * *'],
  ['noon', '0 12 * * *'],
  ['every day at midnight', '0 0 * * *'],
  ['every day at 12 am', '0 0 * * *'],
  ['every day at 12:30 pm', '30 12 * * *'],
  ['every day at 9am and 5pm', '0 9,17 * * *'],
  ['every day at 9:00, 9:30, 17:00 and 17:30', '0,30 9,17 * * *'],
  ['every monday and friday at 9', '0 9 * * 1,5'],
  ['monday to friday at 9', '0 9 * * 1-5'],
  ['mon-fri 9:00', '0 9 * * 1-5'],
  ['weekends at 10:00', '0 10 * * 0,6'],
  ['weekly', '0 0 * * 0'],
  ['every week on tuesday at 8', '0 8 * * 2'],
  ['monthly', '0 0 1 * *'],
  ['on the 1st and 15th of every month at 6:30 in New York', '30 6 1,15 * * | America/New_York'],
  ['day 15 of the month at 8:00', '0 8 15 * *'],
  ['last day of the month at 23:00', '0 23 L * *'],
  ['last weekday of the month at 17:00', '0 17 LW * *'],
  ['first weekday of the month', '0 0 1W * *'],
  ['second tuesday of the month at noon', '0 12 * * 2#2'],
  ['first monday of january at 9', '0 9 * 1 1#1'],
  ['every monday and the 1st of the month at 8:00', '0 8 1 * 1'],
  ['every day in june to august at 7:00', '0 7 * 6,7,8 *'],
  ['every quarter at 6:00', '0 6 1 1,4,7,10 *'],
  ['every year on march 3 at 4pm', '0 16 3 3 *'],
  ['every 90 minutes', 'PT90M'],
  ['every 5 hours', 'PT5H'],
  ['every 45 seconds', 'PT45S'],
  ['every other week', 'P2W'],
  ['every 3 days', 'P3D'],
  ['every 3 days at 10pm in Tokyo', 'P3D | Asia/Tokyo | 2026-11-16T13:00:00Z'],
  ['every other friday at 9:00', 'P2W | 2026-11-20T09:00:00Z'],
  ['every 2 months on the 31st', 'P2M | 2026-12-31T00:00:00Z'],
]

for (const [text, wanted] of sentences) {
  test(`"${text}" becomes ${wanted}`, () => assert.equal(became(text), wanted))
}

test('English that needs two schedules is refused with both suggested, and both are valid', () => {
  const error = refusal('every day at 16:15 and 18:30 in London')
  assert.equal(error.code, 'ENGLISH_NEEDS_TWO_SCHEDULES')
  assert.deepEqual(error.suggestions, ['every day at 16:15 in London', 'every day at 18:30 in London'])
  assert.deepEqual(error.suggestions.map(became), [
    '15 16 * * * | Europe/London',
    '30 18 * * * | Europe/London',
  ])
})

for (const [text, wanted] of [
  ['every day in London 17:30', '30 17 * * * | Europe/London'],
  ['first and third monday of the month at 9:00', '0 9 * * 1#1,1#3'],
  ['first, third and last monday at 9:00', '0 9 * * 1#1,1#3,1L'],
  ['first and last weekday of the month', '0 0 1W,LW * *'],
  ['every march 1st and june 1st', '0 0 1 3,6 *'],
  ['june and july on the 1st and 15th', '0 0 1,15 6,7 *'],
  ['january 24 at 8:00', '0 8 24 1 *'],
  ['last day of each quarter at 9:00', '0 9 L 3,6,9,12 *'],
  ['every hour at :15 between 9 and 17', '15 9-16 * * *'],
] as const) {
  test(`"${text}" becomes ${wanted}, with nothing dropped`, () => assert.equal(became(text), wanted))
}

test('a text that one schedule cannot express exactly is refused, never understood as something near', () => {
  for (const text of [
    'every day at 9 in GMT+2',
    'every 15 minutes in London 9-17',
    'second last day of the month',
    'third last friday of the month',
    'friday the 13th',
    'every monday at 9 on the 1st',
    'march 1 and june 15 at 9:00',
    'last friday of january and first monday of march',
    'every monday in january and tuesday in february at 9',
    'first monday and friday of the month',
    'monthly on friday at 9',
    'every 2 months on the last day at 9',
    'every __proto__',
    'every day in constructor',
    'at constructor',
  ]) {
    assert.match(refusal(text).code, /^ENGLISH_/, text)
  }
})

test('a grid does not begin at a time that a clock change skips', () => {
  const createdAt = at('2026-03-05T00:00:00Z')
  const answer = compileSchedule('every other sunday at 2:30 in New York', { createdAt })
  assert(answer.ok)
  assert.equal(answer.value.definition.start_at, '2026-03-15T06:30:00Z')
})

test('two sentences joined by "and" are refused with each of them suggested', () => {
  for (const [text, first, second] of [
    ['every day at 9 and every monday at 10:00', 'every day at 9', 'every monday at 10:00'],
    ['weekdays at 9, weekends at 11', 'weekdays at 9', 'weekends at 11'],
    ['march 1 and june 15 at 9:00', 'march 1 at 9:00', 'june 15 at 9:00'],
    ['last friday of january and first monday of march', 'last friday of january', 'first monday of march'],
    ['weekdays at 9 and weekends at 11 in London', 'weekdays at 9 in London', 'weekends at 11 in London'],
  ] as const) {
    const error = refusal(text)
    assert.equal(error.code, 'ENGLISH_NEEDS_TWO_SCHEDULES', text)
    assert.deepEqual(error.suggestions, [first, second])
    for (const suggestion of error.suggestions) became(suggestion)
  }
})

test('a text that is not understood is refused at the word, with near texts that are understood', () => {
  for (const [text, position, near] of [
    ['evry day at nooon', 0, 'every day at noon'],
    ['every day at 9:00 in Lodon', 21, 'every day at 9:00 in Europe/London'],
    ['every dya at 9:00', 6, 'every day at 9:00'],
    ['every second friday', 6, 'every other friday at 9:00'],
    ['every day except monday', 10, null],
    ['twice a day', 0, null],
    ['every day at 25:00', 13, null],
    ['first day of the year', 17, null],
    ['the 15', 4, null],
    ['every day at', 10, null],
  ] as const) {
    const error = refusal(text)
    assert.equal(error.code, 'ENGLISH_NOT_UNDERSTOOD', text)
    assert.equal(error.position, position, text)
    assert.ok(error.suggestions.length > 0, text)
    if (near !== null) assert.equal(error.suggestions[0], near)
    for (const suggestion of error.suggestions) assert.doesNotThrow(() => became(suggestion), suggestion)
  }
})

test('no word is ignored, however many there are', () => {
  assert.equal(refusal(`every day at 9 ${'a '.repeat(100)}x`).code, 'ENGLISH_NOT_UNDERSTOOD')
})

test('a sentence with two readings is refused, not guessed', () => {
  for (const text of [
    'every hour between 9 and 5',
    'every day between 9 and 17',
    'every minute at 9:00',
    'every 7 minutes on mondays',
    'every other monday and friday',
    'in January',
    'every day at :15',
    'every year on the 3rd',
  ]) {
    const error = refusal(text)
    assert.equal(error.code, 'ENGLISH_NOT_UNDERSTOOD', text)
    assert.ok(error.suggestions.length > 0, text)
  }
})

test('no words make the reader throw or take long', () => {
  const words = [
    'every',
    'other',
    'day',
    'at',
    '9',
    ':15',
    'and',
    'last',
    'friday',
    'in',
    'London',
    'between',
    'to',
    'the',
    'x/y',
    '31st',
    'may',
  ]
  let state = 5
  for (let i = 0; i < 5_000; i++) {
    const text = Array.from({ length: 1 + (i % 12) }, () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
      return words[(state >>> 8) % words.length]
    }).join(' ')
    const answer = compileSchedule(text, context)
    if (!answer.ok) assert.ok(SCHEDULE_ERROR_CODES.includes(answer.error.code), text)
  }
})
