import assert from 'node:assert/strict'
import type { LookupAddress } from 'node:dns'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import test, { type TestContext } from 'node:test'
import { cleanUp } from '../../../test/cleanup.ts'
import type { HttpOutcome } from '../../ports/http.ts'
import { realTimers } from '../time/timers.ts'
import { HttpClient } from './client.ts'
import { createTargetGuard, ForbiddenTarget, type ResolveName, type TargetGuard } from './target-guard.ts'

const setting = 'CARILLON_ALLOW_PRIVATE_TARGETS'

/** Spellings of hosts that must not be called, by the kind of address that must be named. */
const FORBIDDEN: Record<string, string[]> = {
  loopback: [
    'http://127.0.0.1',
    'http://127.0.0.1.',
    'http://127.1',
    'http://127.0.1',
    'http://127.255.255.254:8080/x?y',
    'http://2130706433',
    'http://0x7f000001',
    'http://0x7f.1',
    'http://0x7F.0x0.0x0.0x1',
    'http://0177.0.0.1',
    'http://017700000001',
    'http://0177.0x0.1',
    'http://1%32%37.0.0.1',
    'http://%31%32%37%2e0.0.1',
    'http://127。0。0。1',
    'http://１２７.０.０.１',
    'http://①②⑦.⓪.⓪.①',
    'http://user@127.0.0.1',
    'http://user:pass@127.0.0.1',
    'http://example.com@127.0.0.1',
    'http://example.com%40x@127.0.0.1/',
    'http:\\\\127.0.0.1\\',
    'http:127.0.0.1',
    'http:/127.0.0.1',
    'http:////127.0.0.1',
    ' http://127.0.0.1 ',
    'ht\ntp://127.\t0.0.1',
    'HTTPS://127.0.0.1',
    'http://[::1]',
    'http://[0:0:0:0:0:0:0:1]',
    'http://[0000:0000:0000:0000:0000:0000:0000:0001]:80',
    'http://[::0.0.0.1]',
  ],
  private: [
    'http://10.0.0.1',
    'http://167772161',
    'http://0xa000001',
    'http://012.1',
    'http://172.16.0.1',
    'http://172.31.255.255',
    'http://192.168.0.1',
    'http://192.168.1',
    'http://3232235777',
  ],
  'link-local': [
    'http://169.254.169.254',
    'http://2852039166',
    'http://0xa9fea9fe',
    'http://0251.0376.0251.0376',
    'http://169.254.43518',
    'http://[fe80::1]',
    'http://[febf:ffff::1]',
  ],
  '(carrier NAT)': ['http://100.64.0.1', 'http://100.127.255.255', 'http://100.100.100.200'],
  unspecified: ['http://0', 'http://0.0.0.0', 'http://0.1.2.3', 'http://0x0', 'http://[::]', 'http://[::0]'],
  multicast: ['http://224.0.0.1', 'http://239.255.255.250', 'http://[ff02::1]', 'http://[ff05::c]'],
  broadcast: ['http://255.255.255.255', 'http://4294967295', 'http://0xffffffff'],
  reserved: [
    'http://240.0.0.1',
    'http://192.0.0.192',
    'http://192.88.99.1',
    'http://[5f00::1]',
    'http://[1::1]',
    'http://[2001:1::1]',
    'http://[2001:20::1]',
    'http://[4000::1]',
    'http://[::ffff:0:7f00:1]',
  ],
  benchmarking: ['http://198.18.0.1', 'http://198.19.255.255', 'http://[2001:2::1]'],
  documentation: [
    'http://192.0.2.1',
    'http://198.51.100.7',
    'http://203.0.113.9',
    'http://[2001:db8::1]',
    'http://[3fff::1]',
  ],
  metadata: ['http://168.63.129.16'],
  'unique local': ['http://[fc00::1]', 'http://[fd00:ec2::254]'],
  'site-local': ['http://[fec0::1]'],
  'IPv4-mapped': [
    'http://[::ffff:7f00:1]',
    'http://[::ffff:127.0.0.1]',
    'http://[0:0:0:0:0:FFFF:10.0.0.1]',
    'http://[::ffff:8.8.8.8]',
  ],
  'IPv4-compatible': ['http://[::127.0.0.1]', 'http://[::7f00:1]', 'http://[::8.8.8.8]'],
  NAT64: ['http://[64:ff9b::7f00:1]', 'http://[64:ff9b::10.0.0.1]', 'http://[64:ff9b:1::1]'],
  '6to4': ['http://[2002:7f00:1::]', 'http://[2002:0a00:0001::1]'],
  Teredo: ['http://[2001::1]', 'http://[2001:0:53aa:64c::7f00:1]'],
}

/** Addresses next to forbidden ones, and names, which are checked when they are resolved. */
const ALLOWED = [
  'http://8.8.8.8',
  'http://134744072',
  'http://1.1',
  'http://9.255.255.255',
  'http://11.0.0.0',
  'http://100.63.255.255',
  'http://100.128.0.0',
  'http://126.255.255.255',
  'http://128.0.0.0',
  'http://169.253.255.255',
  'http://169.255.0.0',
  'http://172.15.255.255',
  'http://172.32.0.0',
  'http://192.167.255.255',
  'http://192.169.0.0',
  'http://198.17.255.255',
  'http://198.20.0.0',
  'http://223.255.255.255',
  'http://[2606:4700:4700::1111]',
  'http://[2001:4860:4860::8888]',
  'http://[2003::1]',
  'http://[2400::1]',
  'http://localhost',
  'http://127.0.0.1.example.com',
  'http://bücher.example',
]

test('an address that is not public is refused in every spelling', () => {
  const guard = createTargetGuard({ kind: 'refuse' }, answering([]))
  const spellings = Object.entries(FORBIDDEN).flatMap(([kind, urls]) =>
    urls.map((url) => [kind, url] as const),
  )
  assert(spellings.length >= 60)
  for (const [kind, url] of spellings) {
    const refusal = guard.checkOrigin(url) ?? 'allowed'
    assert(refusal.includes(`${kind} address`), `${url}: ${refusal}`)
    assert(refusal.startsWith(new URL(url).hostname) && refusal.includes(setting), refusal)
    // As callers that parse once hand it in, and asked a second time.
    assert.equal(guard.checkOrigin(new URL(url).origin), refusal)
    assert.equal(guard.checkOrigin(url), refusal)
  }
})

test('public addresses and names pass the check of the URL', () => {
  const guard = createTargetGuard({ kind: 'refuse' }, answering([]))
  for (const url of ALLOWED) assert.equal(guard.checkOrigin(url), null, url)
})

test('all but link-local and metadata addresses pass when private targets are allowed', async () => {
  const guard = createTargetGuard({ kind: 'allow' }, answering(['127.0.0.1', '::1']))
  const metadata = [
    ...['http://100.100.100.200', 'http://[::ffff:169.254.169.254]', 'http://[fd00:ec2::254]'],
    ...['http://[64:ff9b::169.254.169.254]', 'http://[2002:a9fe:a9fe::1]', 'http://[fd20:ce::254]'],
  ]
  for (const [kind, urls] of Object.entries(FORBIDDEN)) {
    for (const url of urls) {
      const refusal = guard.checkOrigin(url)
      if (kind === 'link-local' || kind === 'metadata' || metadata.includes(url))
        assert(refusal !== null, url)
      else assert.equal(refusal, null, url)
    }
  }
  for (const url of metadata) assert.match(guard.checkOrigin(url) ?? 'passes', /link-local|metadata/, url)
  const listed = createTargetGuard({ kind: 'listed', cidrs: ['169.254.169.254/32'] }, answering([]))
  assert.equal(listed.checkOrigin('http://169.254.169.254'), null)
  assert.equal((await lookup(guard, 'localhost')).length, 2)
})

test('listed networks pass besides public ones, and nothing else does', () => {
  const guard = createTargetGuard(
    { kind: 'listed', cidrs: ['10.1.2.3/8', '127.0.0.2/32', 'fd00::/8'] },
    answering([]),
  )
  const passing = [
    'http://10.200.0.1',
    'http://127.2',
    'http://127.0.0.2',
    'http://[fd12::1]',
    'http://8.8.8.8',
  ]
  // 127.2 is 127.0.0.2. A mapped address leads to its IPv4 address.
  for (const url of [...passing, 'http://[::ffff:10.0.0.1]']) assert.equal(guard.checkOrigin(url), null, url)
  const refused = ['http://127.0.0.1', 'http://192.168.0.1', 'http://[fc00::1]', 'http://[::ffff:127.0.0.1]']
  for (const url of refused) assert.notEqual(guard.checkOrigin(url), null, url)
})

test('a listed IPv6 network does not let IPv4 in by the back door', () => {
  const guard = createTargetGuard({ kind: 'listed', cidrs: ['::/0'] }, answering([]))
  assert.equal(guard.checkOrigin('http://[fd00::1]'), null)
  assert.notEqual(guard.checkOrigin('http://127.0.0.1'), null)
  assert.notEqual(guard.checkOrigin('http://[::ffff:127.0.0.1]'), null)
})

test('verdicts stay right when more origins come by than are remembered', () => {
  const guard = createTargetGuard({ kind: 'refuse' }, answering([]))
  for (let port = 1; port <= 12_000; port++)
    assert.notEqual(guard.checkOrigin(`http://127.0.0.1:${port}`), null)
  for (let port = 1; port <= 12_000; port++) assert.equal(guard.checkOrigin(`http://8.8.8.8:${port}`), null)
})

function answering(...answers: string[][]): ResolveName & { calls: number } {
  const resolve = (tenantId: string) => {
    assert.equal(tenantId, 'default')
    const answer = answers[resolve.calls++ % answers.length]!
    return Promise.resolve(answer.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })))
  }
  resolve.calls = 0
  return resolve
}

function lookup(guard: TargetGuard, name: string): Promise<LookupAddress[]> {
  return new Promise((resolve, reject) => {
    guard.lookupOf('default')(name, { all: true }, (error, addresses) =>
      error === null ? resolve(addresses as LookupAddress[]) : reject(error),
    )
  })
}

test('a name is refused when any of its addresses is forbidden, without telling which', async () => {
  for (const answer of [
    ['127.0.0.1'],
    ['8.8.8.8', '10.0.0.7'],
    ['2606:4700::1', '::ffff:10.0.0.7'],
    ['fe80::1%eth0'],
  ]) {
    const guard = createTargetGuard({ kind: 'refuse' }, answering(answer))
    await assert.rejects(lookup(guard, 'sly.example'), (error) => {
      assert(error instanceof ForbiddenTarget)
      assert.match(error.message, /^sly\.example resolves to an? .* address, which is refused/)
      assert(!error.message.includes(answer.at(-1)!) && error.message.includes(setting))
      return true
    })
  }
})

test('a name with public addresses gets all of them, or the first if the caller asks for one', async () => {
  const guard = createTargetGuard({ kind: 'refuse' }, answering(['8.8.8.8', '2606:4700::1']))
  assert.deepEqual(await lookup(guard, 'fine.example'), [
    { address: '8.8.8.8', family: 4 },
    { address: '2606:4700::1', family: 6 },
  ])
  const one = new Promise((resolve) =>
    guard.lookupOf('default')('fine.example', {}, (...answer) => resolve(answer)),
  )
  assert.deepEqual(await one, [null, '8.8.8.8', 4])
})

test('a resolver that alternates between public and loopback never gets loopback through', async () => {
  const guard = createTargetGuard({ kind: 'refuse' }, answering(['93.184.216.34'], ['127.0.0.1']))
  const answers = await Promise.allSettled(
    Array.from({ length: 1_000 }, () => lookup(guard, 'rebind.example')),
  )
  const letThrough = answers.filter((answer) => answer.status === 'fulfilled').map((answer) => answer.value)
  assert.equal(letThrough.length, 500)
  for (const addresses of letThrough) assert.deepEqual(addresses, [{ address: '93.184.216.34', family: 4 }])
})

// Linux has all of 127.0.0.0/8, macOS of it 127.0.0.1 only.
const allowedAddress = process.platform === 'linux' ? '127.0.0.2' : '::1'
const allowedHost = process.platform === 'linux' ? '127.0.0.2' : '[::1]'

async function listen(server: Server, address: string, port = 0): Promise<number> {
  server.listen(port, address)
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** A server on one address of loopback that may be called, and a canary on the same port of 127.0.0.1 that may not. */
async function setup(t: TestContext, resolve: ResolveName) {
  const seen = { allowed: 0, canary: 0, connections: 0 }
  const start = (name: 'allowed' | 'canary') => {
    const server = createServer((_, response) => {
      seen[name] += 1
      // Closing makes every call connect, and so resolve, anew.
      response.writeHead(200, { connection: 'close' }).end()
    })
    server.on('connection', () => (seen.connections += 1))
    cleanUp(t, () => {
      server.closeAllConnections()
      server.close()
    })
    return server
  }
  const canary = start('canary')
  let port = await listen(start('allowed'), allowedAddress)
  // Somebody else may have the same port on the other address.
  while (!(await listen(canary, '127.0.0.1', port).catch(() => false)))
    port = await listen(start('allowed'), allowedAddress)
  const guard = createTargetGuard(
    { kind: 'listed', cidrs: [`${allowedAddress}/${allowedAddress.includes(':') ? 128 : 32}`] },
    resolve,
  )
  const client = new HttpClient(realTimers, () => performance.now(), { guard })
  cleanUp(t, () => client[Symbol.asyncDispose]())
  const send = (url: string) =>
    client.send({
      tenantId: 'default',
      method: 'POST',
      url,
      headers: {},
      timeoutMs: 20_000,
      responseBytesMax: 1_000,
      previewBytesMax: 100,
    })
  return { send, port, seen }
}

const typeOf = (outcome: HttpOutcome) => (outcome.kind === 'failed' ? outcome.type : outcome.status)

test('of 1,000 calls to a name that alternates between an allowed and a forbidden address none reaches the latter', async (t) => {
  const resolve = answering(
    [allowedAddress],
    ['127.0.0.1'],
    [allowedAddress, '127.0.0.1'],
    ['127.0.0.1', allowedAddress],
  )
  const { send, port, seen } = await setup(t, resolve)
  const counts: Record<string, number> = {}
  for (let batch = 0; batch < 20; batch++) {
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, () => send(`http://rebind.example:${port}/`)),
    )
    for (const type of outcomes.map(typeOf)) counts[type] = (counts[type] ?? 0) + 1
  }
  assert.deepEqual(counts, { 200: 250, TARGET_FORBIDDEN: 750 })
  assert.deepEqual(seen, { allowed: 250, canary: 0, connections: 250 })
  assert.equal(resolve.calls, 1_000, 'a name is resolved once per connection')
})

test('a forbidden target is an outcome that names the host and the setting, over http and https', async (t) => {
  const { send, port, seen } = await setup(t, answering(['127.0.0.1']))
  for (const scheme of ['http', 'https']) {
    for (const host of ['127.0.0.1', '2130706433', '[::ffff:7f00:1]', '[::]', 'inside.example']) {
      const url = `${scheme}://${host}:${port}/`
      const outcome = await send(url)
      assert(outcome.kind === 'failed' && outcome.type === 'TARGET_FORBIDDEN', JSON.stringify(outcome))
      assert(outcome.message.startsWith(new URL(url).hostname), outcome.message)
      assert(outcome.message.includes('which is refused') && outcome.message.includes(setting))
    }
  }
  assert.equal(seen.connections, 0)
  assert.equal(typeOf(await send(`http://${allowedHost}:${port}/`)), 200)
})

test('a redirect to a forbidden address is an answer and leads nowhere', async (t) => {
  const { send, port, seen } = await setup(t, answering([allowedAddress]))
  const redirecting = createServer((_, response) =>
    response.writeHead(307, { location: `http://127.0.0.1:${port}/` }).end(),
  )
  const redirectingPort = await listen(redirecting, allowedAddress)
  cleanUp(t, () => redirecting.close())
  cleanUp(t, () => redirecting.closeAllConnections())
  assert.equal(typeOf(await send(`http://${allowedHost}:${redirectingPort}/`)), 307)
  assert.equal(seen.canary, 0)
})
