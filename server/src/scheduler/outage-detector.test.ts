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

test('what was due before the first pass was held up', () => {
  const { begin, end, upTo } = setup()
  begin(0)
  assert.equal(upTo(), 0)
  end(50)
  assert.equal(upTo(), 50, 'until it was over nothing fired')
})

test('passes that follow each other hold nothing up, however late they are', () => {
  const { begin, end, upTo } = setup()
  end(0)
  for (let ms = 0; ms < 60_000; ms += 2_000) {
    begin(ms)
    end(ms + 2_000)
  }
  assert.equal(upTo(), 0)
})

test('a pass that begins long after the last one finds what was held up', () => {
  const { begin, end, upTo } = setup()
  end(0)
  begin(2_001)
  assert.equal(upTo(), 2_001)
})

test('a pass that took long held up what came due meanwhile', () => {
  const { begin, end, upTo } = setup()
  end(0)
  begin(10)
  end(5_000)
  assert.equal(upTo(), 5_000)
})

test('a pass that failed is none', () => {
  const { begin, end, upTo } = setup()
  end(0)
  begin(1_000)
  begin(2_500)
  assert.equal(upTo(), 2_500)
})
