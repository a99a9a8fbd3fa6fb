import assert from 'node:assert/strict'
import test from 'node:test'
import { epochMs } from '../lib/time/epoch.ts'
import { OutageDetector } from './outage-detector.ts'

function setup() {
  const outages = new OutageDetector()
  return {
    begin: (ms: number) => outages.begin(epochMs(1_000_000 + ms)),
    end: (ms: number) => outages.end(epochMs(1_000_000 + ms)),
    upTo: () => outages.upTo - 1_000_000,
  }
}

test('slots that were due before the first pass were delayed by an outage', () => {
  const { begin, end, upTo } = setup()
  begin(0)
  assert.equal(upTo(), 0)
  end(50)
  assert.equal(upTo(), 50, 'until it was over nothing fired')
})

test('passes that follow each other find no outage, however late slots are', () => {
  const { begin, end, upTo } = setup()
  end(0)
  for (let ms = 0; ms < 60_000; ms += 2_000) {
    begin(ms)
    end(ms + 2_000)
  }
  assert.equal(upTo(), 0)
})

test('a pass that begins long after the last one finds an outage', () => {
  const { begin, end, upTo } = setup()
  end(0)
  begin(2_001)
  assert.equal(upTo(), 2_001)
})

test('a pass that took long delayed the slots that came due meanwhile', () => {
  const { begin, end, upTo } = setup()
  end(0)
  begin(10)
  end(5_000)
  assert.equal(upTo(), 5_000)
})

test('a pass that failed does not count as a pass', () => {
  const { begin, end, upTo } = setup()
  end(0)
  begin(1_000)
  begin(2_500)
  assert.equal(upTo(), 2_500)
})
