// The hosts file and resolv.conf.
import assert from 'node:assert/strict'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { cleanUp } from '../../../test/cleanup.ts'
import { parseHosts } from './hosts-file.ts'
import { parseResolvConf } from './resolv-conf.ts'
import { WatchedFile } from './watched-file.ts'

test('the hosts file is read as the system reads it', () => {
  const hosts = parseHosts(`# a comment
127.0.0.1\tlocalhost
::1 localhost ip6-localhost # and another
  10.0.0.7   Web  web.internal\r
10.0.0.8 web
10.0.0.7 web
not-an-address name
10.0.0.9
`)
  assert.deepEqual(Object.fromEntries(hosts), {
    localhost: [
      { address: '127.0.0.1', family: 4 },
      { address: '::1', family: 6 },
    ],
    'ip6-localhost': [{ address: '::1', family: 6 }],
    web: [
      { address: '10.0.0.7', family: 4 },
      { address: '10.0.0.8', family: 4 },
    ],
    'web.internal': [{ address: '10.0.0.7', family: 4 }],
  })
})

test('resolv.conf is read as the system reads it', () => {
  const kubernetes = `search jobs.svc.cluster.local svc.cluster.local cluster.local
nameserver 10.96.0.10
options timeout:1 ndots:5 attempts:3
`
  assert.deepEqual(parseResolvConf(kubernetes), {
    servers: ['10.96.0.10'],
    search: ['jobs.svc.cluster.local', 'svc.cluster.local', 'cluster.local'],
    dotsMin: 5,
  })
  const others = `; a comment
# nameserver 192.0.2.9
domain first.test
search second.test. .
nameserver 127.0.0.11\r
nameserver ::1
nameserver fe80::1%eth0
nameserver nonsense
options ndots:0
options ndots:99 rotate
`
  assert.deepEqual(parseResolvConf(others), {
    servers: ['127.0.0.11', '::1'],
    search: ['second.test'],
    dotsMin: 15,
  })
  assert.deepEqual(parseResolvConf(''), { servers: [], search: [], dotsMin: 1 })
})

test('a file is read again when it has changed, and looked at once a second', async (t) => {
  const path = join(tmpdir(), `carillon-hosts-${process.pid}`)
  cleanUp(t, () => rm(path, { force: true }))
  let nowMs = 0
  const file = new WatchedFile(
    path,
    (text) => ({ text }),
    () => nowMs,
  )
  assert.deepEqual(file.read(), { text: '' })
  await writeFile(path, 'one')
  nowMs = 999
  assert.deepEqual(file.read(), { text: '' })
  nowMs = 1_000
  const first = file.read()
  assert.deepEqual(first, { text: 'one' })
  nowMs = 2_000
  assert.equal(file.read(), first)
  await writeFile(path, 'two and more')
  nowMs = 3_000
  assert.deepEqual(file.read(), { text: 'two and more' })
  await rm(path)
  nowMs = 4_000
  assert.deepEqual(file.read(), { text: '' })
})

test('a file that cannot be read leaves things as they were, until it can', async (t) => {
  const path = join(tmpdir(), `carillon-unreadable-${process.pid}`)
  cleanUp(t, () => rm(path, { force: true, recursive: true }))
  let nowMs = 0
  await writeFile(path, 'one')
  const file = new WatchedFile(
    path,
    (text) => ({ text }),
    () => nowMs,
  )
  await rm(path)
  await mkdir(path)
  nowMs = 1_000
  assert.deepEqual(file.read(), { text: 'one' })
  await rm(path, { recursive: true })
  await writeFile(path, 'two')
  nowMs = 2_000
  assert.deepEqual(file.read(), { text: 'two' })
})
