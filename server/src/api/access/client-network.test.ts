import assert from 'node:assert/strict'
import test from 'node:test'
import { networkOf } from './client-network.ts'

test('an IPv4 address is a network of its own, however a socket shows it', () => {
  assert.equal(networkOf('198.51.100.7'), '198.51.100.7')
  assert.equal(networkOf('::ffff:198.51.100.7'), '198.51.100.7')
  assert.equal(networkOf('::FFFF:198.51.100.7'), '198.51.100.7')
})

test('IPv6 addresses are in one network when their first 64 bits are the same, in every spelling', () => {
  const same = [
    '2001:db8:0:7::1',
    '2001:0DB8:0000:0007:ffff:1:2:3',
    '2001:db8::7:0:0:0:9',
    '2001:db8:0:7::192.0.2.1',
  ]
  for (const address of same) assert.equal(networkOf(address), '2001:db8:0:7::/64', address)
  assert.equal(networkOf('2001:db8::7'), '2001:db8:0:0::/64')
  assert.equal(networkOf('::1'), '0:0:0:0::/64')
  assert.equal(networkOf('1::'), '1:0:0:0::/64')
  assert.equal(networkOf('fe80::1%eth0'), 'fe80:0:0:0::/64')
})

test('a text that is no address is kept as it is', () => {
  assert.equal(networkOf('unknown'), 'unknown')
})
