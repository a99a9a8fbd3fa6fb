import assert from 'node:assert/strict'
import test from 'node:test'
import { createVirtualWorld } from '../../../test/virtual-world.ts'
import type { HttpErrorType } from '../../ports/http.ts'
import {
  HostGate,
  type HostOutcome,
  hostCapOf,
  hostKeyOf,
  hostOfKey,
  judgeHost,
  tenantOfKey,
} from './host-gate.ts'

const host = 'example.com'

function fail(gate: HostGate, times: number, nowMs = 0): void {
  for (let n = 0; n < times; n++) {
    assert(gate.tryEnter(host, nowMs))
    gate.leave(host, 'failed')
  }
}

function enterAll(gate: HostGate, nowMs: number): number {
  let entered = 0
  while (gate.tryEnter(host, nowMs)) entered += 1
  return entered
}

test('a host gets its cap and no more, regardless of other hosts', () => {
  const gate = new HostGate({ capPerHost: 250 })
  assert.equal(gate.room(host, 0), 250)
  assert.equal(enterAll(gate, 0), 250)
  assert.equal(gate.room(host, 0), 0)
  assert.equal(gate.waitMs(host, 0), null)
  assert.equal(gate.room('other.example', 0), 250)
  gate.leave(host, 'ok')
  assert.equal(gate.waitMs(host, 0), 0)
  assert(gate.tryEnter(host, 0))
  assert(!gate.tryEnter(host, 0))
})

test('the cap is an eighth of the capacity and at least one', () => {
  assert.deepEqual([2_000, 15, 8, 7, 1].map(hostCapOf), [250, 1, 1, 1, 1])
})

test('twenty failures in a row open a host, nineteen do not', () => {
  const gate = new HostGate({ capPerHost: 250 })
  fail(gate, 19)
  assert(!gate.isOpen(host))
  assert(gate.tryEnter(host, 0))
  gate.leave(host, 'ok')
  fail(gate, 19)
  assert(!gate.isOpen(host))
  fail(gate, 1)
  assert(gate.isOpen(host))
  assert.deepEqual(gate.openHosts(), [host])
})

test('a call that says nothing about the host neither counts nor interrupts the count', () => {
  const gate = new HostGate({ capPerHost: 250 })
  fail(gate, 19)
  assert(gate.tryEnter(host, 0))
  gate.leave(host, 'unknown')
  assert(!gate.isOpen(host))
  fail(gate, 1)
  assert(gate.isOpen(host))
  assert(gate.tryEnter(host, 0))
  gate.leave(host, 'unknown')
  assert(gate.isOpen(host))
})

test('an open host gets four calls at a time', () => {
  const gate = new HostGate({ capPerHost: 250 })
  fail(gate, 20)
  assert.equal(gate.room(host, 0), 4)
  assert.equal(enterAll(gate, 0), 4)
  assert.equal(gate.waitMs(host, 0), null)
  assert.equal(enterAll(gate, 60_000), 0)
})

test('calls that were in flight when the host opened count against its four', () => {
  const gate = new HostGate({ capPerHost: 250 })
  for (let n = 0; n < 26; n++) gate.tryEnter(host, 0)
  for (let n = 0; n < 20; n++) gate.leave(host, 'failed')
  assert(gate.isOpen(host))
  assert.equal(gate.room(host, 0), 0)
  for (let n = 0; n < 3; n++) gate.leave(host, 'failed')
  assert.equal(gate.room(host, 0), 1)
})

test('an open host gets ten starts in any second, and says when the next may be tried', () => {
  const gate = new HostGate({ capPerHost: 250 })
  fail(gate, 20)
  fail(gate, 4, 100)
  fail(gate, 6, 700.25)
  assert(!gate.tryEnter(host, 700.25))
  assert.equal(gate.waitMs(host, 700.25), 400)
  assert(!gate.tryEnter(host, 1_099))
  assert.equal(gate.room(host, 1_100), 4)
  fail(gate, 4, 1_100)
  assert.equal(gate.room(host, 1_100), 0)
  assert.equal(gate.waitMs(host, 1_100), 601)
  assert(gate.tryEnter(host, 1_701))
})

test('one success closes an open host and gives it its cap again', () => {
  const gate = new HostGate({ capPerHost: 250 })
  fail(gate, 30)
  assert(gate.isOpen(host))
  fail(gate, 0)
  assert(gate.tryEnter(host, 2_000))
  gate.leave(host, 'ok')
  assert(!gate.isOpen(host))
  assert.deepEqual(gate.openHosts(), [])
  assert.equal(gate.room(host, 2_000), 250)
  fail(gate, 19, 2_000)
  assert(!gate.isOpen(host))
})

test('a worker with a cap below four keeps to it also when a host is open', () => {
  const gate = new HostGate({ capPerHost: 2 })
  fail(gate, 20)
  assert.equal(enterAll(gate, 0), 2)
})

test('an idle host without failures is forgotten, and comes back without a past', () => {
  const gate = new HostGate({ capPerHost: 4 })
  fail(gate, 25)
  assert(gate.tryEnter(host, 5_000))
  gate.leave(host, 'ok')
  assert.equal(gate.size, 0)
  assert(gate.tryEnter('other.example', 5_000))
  assert(!gate.isOpen('other.example'))
  gate.leave('other.example', 'ok')
  assert.equal(gate.size, 0)
})

test('asking about a host does not make it remembered', () => {
  const gate = new HostGate({ capPerHost: 4 })
  gate.room(host, 0)
  gate.waitMs(host, 0)
  gate.isOpen(host)
  assert.equal(gate.size, 0)
})

test('at most 10,000 failing hosts are remembered; the longest remembered gives way, never one with calls in flight', () => {
  const gate = new HostGate({ capPerHost: 4 })
  assert(gate.tryEnter('busy.example', 0))
  for (let n = 0; n < 30_000; n++) {
    assert(gate.tryEnter(`host-${n}.example`, n))
    gate.leave(`host-${n}.example`, 'failed')
    assert(gate.size <= 10_000)
  }
  assert.equal(gate.size, 10_000)
  gate.leave('busy.example', 'failed')
})

test('a host that takes the place of an open one does not take over its past', () => {
  const gate = new HostGate({ capPerHost: 8, hostsMax: 1 })
  fail(gate, 20)
  assert(gate.tryEnter('b', 0))
  assert(!gate.isOpen('b'))
  assert.equal(gate.room('b', 0), 7)
  gate.leave('b', 'failed')
  fail(gate, 19)
  assert(!gate.isOpen(host))
})

test('when every remembered host has calls in flight a new one waits', () => {
  const gate = new HostGate({ capPerHost: 4, hostsMax: 2 })
  assert(gate.tryEnter('a', 0) && gate.tryEnter('b', 0))
  assert.equal(gate.room('c', 0), 0)
  assert.equal(gate.waitMs('c', 0), null)
  assert(!gate.tryEnter('c', 0))
  assert(gate.tryEnter('b', 0))
  gate.leave('a', 'failed')
  assert.equal(gate.room('c', 0), 4)
  assert(gate.tryEnter('c', 0))
})

test('leaving a host that was not entered is a broken invariant', () => {
  const gate = new HostGate({ capPerHost: 4 })
  assert.throws(() => gate.leave(host, 'ok'), /had not entered/)
})

// The gate against the rules written down plainly, in random histories of 40,000 steps.
for (const seed of [1, 2, 3, 4, 5]) {
  test(`limits hold and the breaker follows its rule in a random history (seed ${seed})`, () => {
    const { random } = createVirtualWorld({ seed })
    const pick = (count: number) => Math.floor(random.next() * count)
    const cap = 1 + pick(12)
    const gate = new HostGate({ capPerHost: cap })
    const names = ['a', 'b', 'c']
    const model = names.map(() => ({ inFlight: 0, failures: 0, open: false, starts: [] as number[] }))
    let nowMs = 0
    let opened = 0
    let mostlyFailing = false
    for (let step = 0; step < 40_000; step++) {
      if (step % 500 === 0) mostlyFailing = random.next() < 0.6
      nowMs += random.next() < 0.5 ? 0 : random.next() * 60
      const index = pick(names.length)
      const name = names[index]!
      const known = model[index]!
      const inWindow = known.starts.filter((at) => at + 1_000 > nowMs).length
      const room = known.open
        ? Math.max(0, Math.min(4 - known.inFlight, cap - known.inFlight, 10 - inWindow))
        : Math.max(0, cap - known.inFlight)
      assert.equal(gate.room(name, nowMs), room)
      assert.equal(gate.isOpen(name), known.open)
      const waitMs = gate.waitMs(name, nowMs)
      assert.equal(waitMs === 0, room > 0)
      if (waitMs !== null) assert(gate.room(name, nowMs + waitMs) > 0)
      if (random.next() < 0.6) {
        const entered = gate.tryEnter(name, nowMs)
        assert.equal(entered, room > 0)
        if (!entered) continue
        known.inFlight += 1
        if (known.open) known.starts.push(nowMs)
      } else if (known.inFlight > 0) {
        const outcome: HostOutcome =
          random.next() < (mostlyFailing ? 0.99 : 0.3) ? 'failed' : random.next() < 0.2 ? 'unknown' : 'ok'
        gate.leave(name, outcome)
        known.inFlight -= 1
        if (outcome === 'ok') Object.assign(known, { failures: 0, open: false, starts: [] })
        if (outcome === 'failed' && ++known.failures >= 20 && !known.open) {
          known.open = true
          opened += 1
        }
      }
      assert.equal(gate.size, model.filter((one) => one.inFlight > 0 || one.failures > 0).length)
    }
    assert(opened > 0, 'the history never opened a host')
  })
}

test('errors on the way, timeouts, 5xx and 429 are failures of the host; every other answer is a sign of life', () => {
  const answers = [200, 204, 302, 400, 404, 410, 429, 500, 503].map((status) =>
    judgeHost({ kind: 'answered', status, headers: {}, preview: new Uint8Array() }),
  )
  assert.deepEqual(answers, ['ok', 'ok', 'ok', 'ok', 'ok', 'ok', 'failed', 'failed', 'failed'])
  const judge = (type: HttpErrorType) => judgeHost({ kind: 'failed', type, message: '' })
  const failures = ['TIMEOUT', 'CONNECTION_REFUSED', 'CONNECTION_RESET', 'DNS_RESOLUTION_FAILED', 'TLS_ERROR']
  for (const type of failures) assert.equal(judge(type as HttpErrorType), 'failed')
  assert.equal(judge('RESPONSE_TOO_LARGE'), 'ok')
  assert.equal(judge('CANCELLED'), 'unknown')
  assert.equal(judge('TARGET_FORBIDDEN'), 'unknown')
})

test('failures of one tenant at a host neither open it for another nor take its room', () => {
  const gate = new HostGate({ capPerHost: 20, isShared: () => true })
  const [a, b] = [hostKeyOf('host', 'a'), hostKeyOf('host', 'b')]
  for (let i = 0; i < 40; i++) {
    gate.tryEnter(a, i * 1_000)
    gate.leave(a, 'failed')
  }
  assert.deepEqual([gate.isOpen(a), gate.isOpen(b)], [true, false])
  assert.equal(gate.room(b, 40_000), 18)
  gate.tryEnter(b, 40_000)
  gate.leave(b, 'ok')
  assert.equal(gate.isOpen(a), true, 'a success of another tenant says nothing of its calls')
})

test('one tenant leaves a tenth of a host to the others, and half while calls of another wait there', () => {
  const gate = new HostGate({ capPerHost: 20, isShared: () => true })
  const enter = (name: string, nowMs: number) => {
    let entered = 0
    while (gate.tryEnter(name, nowMs)) entered += 1
    return entered
  }
  const [a, b, c] = ['a', 'b', 'c'].map((tenantId) => hostKeyOf('host', tenantId)) as [string, string, string]
  assert.equal(enter(a, 0), 18)
  assert.equal(gate.room(c, 0), 2)
  assert.equal(gate.waitingBeside(a, 0), null)
  assert.equal(enter(b, 0), 2)
  assert.equal(gate.waitingBeside(a, 0), b)
  assert.equal(gate.waitingBeside(b, 0), null)
  for (let i = 0; i < 8; i++) {
    gate.leave(a, 'ok')
    assert.equal(gate.tryEnter(a, 500), false, 'it has half or more, and another waits')
    assert.equal(gate.tryEnter(b, 500), true)
  }
  assert.equal(gate.tryEnter(c, 500), false, 'the host is full')
  for (const [name, calls] of [[a, 10], [b, 10]] as const) for (let i = 0; i < calls; i++) gate.leave(name, 'ok') // biome-ignore format: one loop
  assert.equal(gate.size, 0)
  assert.equal(enter(a, 5_000), 18, 'nobody has waited for a second')
})

test('a single tenant has a whole host, and names without a tenant count with the others', () => {
  const gate = new HostGate({ capPerHost: 4 })
  for (let i = 0; i < 3; i++) assert(gate.tryEnter(hostKeyOf('host', 'a'), 0))
  assert.equal(gate.room('host', 0), 1)
  assert(gate.tryEnter('host', 0))
  assert.equal(gate.room(hostKeyOf('host', 'a'), 0), 0)
  assert.deepEqual([hostOfKey('host:1 t'), hostOfKey('host:1')], ['host:1', 'host:1'])
  assert.deepEqual([tenantOfKey('host:1 t'), tenantOfKey('host:1')], ['t', null])
})
