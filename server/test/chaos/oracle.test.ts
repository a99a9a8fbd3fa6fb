import assert from 'node:assert/strict'
import test from 'node:test'
import { slotsOf } from './oracle.ts'

const at = Date.UTC(2026, 0, 1, 12)
const secondsOf = (slots: readonly number[]) => slots.map((slot) => (slot - at) / 1_000)

test('an interval is a grid from the second of its anchor, and its first slot is one interval later', () => {
  const schedule = { type: 'INTERVAL', every_seconds: 3 } as const
  assert.deepEqual(
    secondsOf(slotsOf(schedule, { after: at, upTo: at + 9_000, anchorAt: at + 900 })),
    [3, 6, 9],
  )
  assert.deepEqual(secondsOf(slotsOf(schedule, { after: at + 3_000, upTo: at + 8_999, anchorAt: at })), [6])
})

test('cron begins anew with each minute, and an earlier question after a later one is answered as well', () => {
  const schedule = { type: 'CRON', cron_expression: '*/25 * * * * *', timezone: 'Asia/Kolkata' } as const
  const ask = (after: number, upTo: number) =>
    secondsOf(slotsOf(schedule, { after: at + after * 1_000, upTo: at + upTo * 1_000, anchorAt: at }))
  assert.deepEqual(ask(25, 85), [50, 60, 85])
  assert.deepEqual(ask(0, 60), [25, 50, 60])
  assert.deepEqual(ask(0, 120), [25, 50, 60, 85, 110, 120])
})

test('a schedule that it does not know is no schedule without slots', () => {
  const span = { after: at, upTo: at + 1_000, anchorAt: at }
  assert.throws(() => slotsOf({ type: 'CRON', max_runs: 3 } as never, span), /max_runs/)
  assert.throws(() => slotsOf({ type: 'IMMEDIATE' }, span), /IMMEDIATE/)
})
