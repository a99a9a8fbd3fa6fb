import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import test, { type TestContext } from 'node:test'
import { cleanUp } from '../../../test/cleanup.ts'
import { answering, check, createGuard, lookup } from '../../../test/target-guards.ts'
import { ALLOWED, FORBIDDEN } from '../../../test/target-spellings.ts'
import type { HttpOutcome } from '../../ports/http.ts'
import { realTimers } from '../time/timers.ts'
import { HttpClient } from './client.ts'
import { ForbiddenTarget, type ResolveName } from './target-guard.ts'

const setting = 'CARILLON_ALLOW_PRIVATE_TARGETS'

test('an address that is not public is refused in every spelling', () => {
  const guard = createGuard({ kind: 'refuse' }, answering([]))
  const spellings = Object.entries(FORBIDDEN).flatMap(([kind, urls]) =>
    urls.map((url) => [kind, url] as const),
  )
  assert(spellings.length >= 60)
  for (const [kind, url] of spellings) {
    const refusal = check(guard, url) ?? 'allowed'
    assert(refusal.includes(`${kind} address`), `${url}: ${refusal}`)
    assert(refusal.startsWith(new URL(url).hostname) && refusal.includes(setting), refusal)
    // As callers that parse once hand it in, and asked a second time.
    assert.equal(check(guard, new URL(url).origin), refusal)
    assert.equal(check(guard, url), refusal)
  }
})

test('public addresses and names pass the check of the URL', () => {
  const guard = createGuard({ kind: 'refuse' }, answering([]))
  for (const url of ALLOWED) assert.equal(check(guard, url), null, url)
})

test('all but link-local and metadata addresses pass when private targets are allowed', async () => {
  const guard = createGuard({ kind: 'allow' }, answering(['127.0.0.1', '::1']))
  const metadata = [
    ...['http://100.100.100.200', 'http://[::ffff:169.254.169.254]', 'http://[fd00:ec2::254]'],
    ...['http://[64:ff9b::169.254.169.254]', 'http://[2002:a9fe:a9fe::1]', 'http://[fd20:ce::254]'],
  ]
  for (const [kind, urls] of Object.entries(FORBIDDEN)) {
    for (const url of urls) {
      const refusal = check(guard, url)
      if (kind === 'link-local' || kind === 'metadata' || metadata.includes(url))
        assert(refusal !== null, url)
      else assert.equal(refusal, null, url)
    }
  }
  for (const url of metadata) assert.match(check(guard, url) ?? 'passes', /link-local|metadata/, url)
  const listed = createGuard({ kind: 'listed', cidrs: ['169.254.169.254/32'] }, answering([]))
  assert.equal(check(listed, 'http://169.254.169.254'), null)
  assert.equal((await lookup(guard, 'localhost')).length, 2)
})

test('listed networks pass besides public ones, and nothing else does', () => {
  const guard = createGuard(
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
  for (const url of [...passing, 'http://[::ffff:10.0.0.1]']) assert.equal(check(guard, url), null, url)
  const refused = ['http://127.0.0.1', 'http://192.168.0.1', 'http://[fc00::1]', 'http://[::ffff:127.0.0.1]']
  for (const url of refused) assert.notEqual(check(guard, url), null, url)
})

test('a listed IPv6 network does not let IPv4 in by the back door', () => {
  const guard = createGuard({ kind: 'listed', cidrs: ['::/0'] }, answering([]))
  assert.equal(check(guard, 'http://[fd00::1]'), null)
  assert.notEqual(check(guard, 'http://127.0.0.1'), null)
  assert.notEqual(check(guard, 'http://[::ffff:127.0.0.1]'), null)
})

test('verdicts stay right when more origins come by than are remembered', () => {
  const guard = createGuard({ kind: 'refuse' }, answering([]))
  for (let port = 1; port <= 12_000; port++) assert.notEqual(check(guard, `http://127.0.0.1:${port}`), null)
  for (let port = 1; port <= 12_000; port++) assert.equal(check(guard, `http://8.8.8.8:${port}`), null)
})

test('a name is refused when any of its addresses is forbidden, without telling which', async () => {
  for (const answer of [
    ['127.0.0.1'],
    ['8.8.8.8', '10.0.0.7'],
    ['2606:4700::1', '::ffff:10.0.0.7'],
    ['fe80::1%eth0'],
  ]) {
    const guard = createGuard({ kind: 'refuse' }, answering(answer))
    await assert.rejects(lookup(guard, 'sly.example'), (error) => {
      assert(error instanceof ForbiddenTarget)
      assert.match(error.message, /^sly\.example resolves to an? .* address, which is refused/)
      assert(!error.message.includes(answer.at(-1)!) && error.message.includes(setting))
      return true
    })
  }
})

test('a name with public addresses gets all of them, or the first if the caller asks for one', async () => {
  const guard = createGuard({ kind: 'refuse' }, answering(['8.8.8.8', '2606:4700::1']))
  assert.deepEqual(await lookup(guard, 'fine.example'), [
    { address: '8.8.8.8', family: 4 },
    { address: '2606:4700::1', family: 6 },
  ])
  const one = new Promise((resolve) =>
    guard.lookupOf('default', 'http://fine.example')('fine.example', {}, (...answer) => resolve(answer)),
  )
  assert.deepEqual(await one, [null, '8.8.8.8', 4])
})

test('a resolver that alternates between public and loopback never gets loopback through', async () => {
  const guard = createGuard({ kind: 'refuse' }, answering(['93.184.216.34'], ['127.0.0.1']))
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
  const cidrs = [`${allowedAddress}/${allowedAddress.includes(':') ? 128 : 32}`]
  const guard = createGuard({ kind: 'listed', cidrs }, resolve)
  const client = new HttpClient(realTimers, () => performance.now(), { guard })
  cleanUp(t, () => client[Symbol.asyncDispose]())
  const send = (url: string, tenantId = 'default') =>
    client.send({
      tenantId,
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
