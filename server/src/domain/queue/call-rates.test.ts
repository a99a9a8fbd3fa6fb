import assert from 'node:assert/strict'
import test from 'node:test'
import { CallRates, callKeyOf, rateKeyOf } from './call-rates.ts'
import { hostKeyOf, hostOfKey, tenantOfKey } from './host-gate.ts'

const name = hostKeyOf('example.com', 'free')
const waiting = rateKeyOf(name)

function setup(perSecond = 50, workers = 1) {
  const rates = new CallRates()
  rates.workers = workers
  rates.setLimit('free', perSecond)
  return rates
}

const callMany = (rates: CallRates, count: number, nowMs: number, of = name) => {
  let called = 0
  for (let i = 0; i < count; i++) if (rates.tryCall(of, nowMs)) called += 1
  return called
}

/** Claims waiting executions, of which the store has so many; returns how many came. */
function claim(rates: CallRates, stored: number, nowMs: number): number {
  rates.see(stored > 0 ? [waiting] : [], nowMs)
  const count = rates.room(name, nowMs)
  if (count > 0) rates.grant(name, count, nowMs)
  const came = callMany(rates, Math.min(count, stored), nowMs)
  rates.endGrants()
  return came
}

test('a tenant calls a host for two seconds worth at once, and then at its rate', () => {
  const rates = setup()
  assert.equal(callMany(rates, 3_000, 0), 100)
  let called = 100
  let stored = 2_900
  for (let ms = 250; ms <= 20_000; ms += 250) {
    const came = claim(rates, stored, ms)
    stored -= came
    called += came
    assert(called <= 100 + (50 * ms) / 1_000, `${called} calls in ${ms} ms`)
  }
  assert(called >= 100 + 50 * 20 - 1, `${called}`)
})

test('other hosts, other tenants and tenants without a limit are not held up', () => {
  const rates = setup()
  callMany(rates, 3_000, 0)
  assert.equal(callMany(rates, 200, 0, hostKeyOf('other.example', 'free')), 100)
  assert.equal(callMany(rates, 200, 0, hostKeyOf('example.com', 'unlimited')), 200)
  assert.equal(rates.room(hostKeyOf('example.com', 'unlimited'), 0), Number.POSITIVE_INFINITY)
})

test('the ports of a host have one bucket', () => {
  const rates = setup()
  const ports = [80, 8443, 9000].map((port) => hostKeyOf(`example.com:${port}`, 'free'))
  assert.equal(
    ports.reduce((sum, one) => sum + callMany(rates, 60, 0, one), 0),
    100,
  )
  assert.equal(callMany(rates, 200, 0, hostKeyOf('[::1]:80', 'free')), 100)
  assert.equal(callMany(rates, 200, 0, hostKeyOf('[::1]', 'free')), 0)
})

test('each worker has its share, of the workers that are there', () => {
  const rates = setup(50, 4)
  assert.equal(callMany(rates, 3_000, 0), 25)
  assert.equal(claim(rates, 3_000, 1_000), 12)
  rates.workers = 1
  assert.equal(claim(rates, 3_000, 2_000), 50)
  rates.workers = 50
  assert.equal(claim(rates, 3_000, 60_000), 2)
})

test('while executions wait, new ones wait behind them', () => {
  const rates = setup()
  callMany(rates, 101, 0)
  assert.equal(rates.tryCall(name, 1_000), false, 'there are tokens, for the waiting one')
  assert.equal(rates.room(name, 1_000), 50)
  rates.see([waiting], 1_000)
  rates.grant(name, 1, 1_000)
  assert.equal(rates.tryCall(name, 1_000), true, 'the waiting one has come')
  assert.equal(rates.tryCall(name, 1_000), false)
  rates.endGrants()
  assert.equal(rates.tryCall(name, 1_001), false, 'more may wait')
})

test('a claim that brings fewer than it has tokens for ends the waiting', () => {
  const rates = setup()
  callMany(rates, 103, 0)
  assert.equal(claim(rates, 3, 1_000), 3)
  assert.equal(rates.tryCall(name, 1_000), true)
})

test('a look that finds none ends the waiting, unless one may be on its way to the store', () => {
  const rates = setup()
  callMany(rates, 101, 0)
  rates.see([], 100)
  assert.equal(rates.tryCall(name, 200), false)
  rates.see([], 300)
  assert.equal(rates.tryCall(name, 400), true)
})

test('executions that wait because of another worker are served first', () => {
  const rates = setup(50, 2)
  rates.see([waiting], 0)
  assert.equal(rates.tryCall(name, 0), false)
  assert.equal(claim(rates, 10, 0), 10)
  assert.equal(rates.tryCall(name, 0), true)
})

test('without a limit any more, the waiting ones may come at once', () => {
  const rates = setup()
  callMany(rates, 200, 0)
  rates.setLimit('free', null)
  assert.equal(rates.isLimited, false)
  assert.equal(rates.room(callKeyOf(waiting), 0), Number.POSITIVE_INFINITY)
  assert.equal(callMany(rates, 500, 0), 500)
})

test('idle buckets are forgotten when they are full, and one gives way when there are too many', () => {
  const rates = new CallRates({ bucketsMax: 2 })
  rates.setLimit('free', 50)
  callMany(rates, 100, 0)
  rates.forgetIdle(1_000)
  assert.equal(callMany(rates, 100, 1_000), 50)
  for (const host of ['a', 'b', 'c']) assert.equal(callMany(rates, 1, 1_000, hostKeyOf(host, 'free')), 1)
  assert.equal(callMany(rates, 200, 1_000), 100, 'it was the oldest')
})

test('the name of waiting executions has the host and the tenant', () => {
  const key = hostKeyOf('example.com:8443', 'free')
  assert.deepEqual([hostOfKey(rateKeyOf(key)), tenantOfKey(rateKeyOf(key))], ['example.com:8443', 'free'])
  assert.deepEqual([callKeyOf(rateKeyOf(key)), callKeyOf(key)], [key, key])
})
