// Names of targets, asked of a real name server on loopback.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import test, { type TestContext } from 'node:test'
import { cleanUp } from '../../../test/cleanup.ts'
import { type DnsAnswer, type DnsType, startDnsServer } from '../../../test/dns-server.ts'
import { HttpClient } from '../http/client.ts'
import { createTargetGuard } from '../http/target-guard.ts'
import { realTimers } from '../time/timers.ts'
import { parseHosts } from './hosts-file.ts'
import { NameResolver, type NameResolverOptions } from './name-resolver.ts'

interface Scene {
  answer: (name: string, type: DnsType) => DnsAnswer
  hosts?: string
  search?: string[]
  dotsMin?: number
  places?: NameResolverOptions['places']
}

async function setup(t: TestContext, { answer, hosts = '', search = [], dotsMin = 1, places = {} }: Scene) {
  const { address, questions } = await startDnsServer(t, answer)
  const clock = { nowMs: 0 }
  const conf = { servers: [address], search, dotsMin }
  const parsed = parseHosts(hosts)
  const names = new NameResolver(realTimers, () => clock.nowMs, {
    hosts: () => parsed,
    conf: () => conf,
    places,
  })
  cleanUp(t, () => names[Symbol.dispose]())
  const resolve = async (name: string, tenantId = 'a') =>
    (await names.resolve(tenantId, name)).map(({ address }) => address)
  return { names, resolve, questions, clock, conf }
}

const one = (ttl = 300) => ({ addresses: ['192.0.2.1'], ttl })
const isNamed = (code: string, text: RegExp) => (error: Error & { code?: string }) =>
  error.code === code && text.test(error.message)

test('a name has the addresses of both families that its name server tells, IPv4 first', async (t) => {
  const addresses = ['2001:db8::7', '192.0.2.1', '192.0.2.2']
  const { names } = await setup(t, { answer: () => ({ addresses, ttl: 60 }) })
  const found = await names.resolve('a', 'Target.Test')
  assert.deepEqual(found.map(({ address }) => address).sort(), addresses.sort())
  assert.deepEqual(
    found.map(({ family }) => family),
    [4, 4, 6],
  )
})

test('a name of one family only has these addresses', async (t) => {
  for (const addresses of [['192.0.2.1'], ['2001:db8::7']]) {
    const { resolve } = await setup(t, { answer: () => ({ addresses, ttl: 60 }) })
    assert.deepEqual(await resolve('target.test'), addresses)
  }
})

test('the hosts file comes first and DNS is not asked, nor is it asked for localhost', async (t) => {
  const hosts = '10.0.0.7 Web web.internal # of the container\n::1 web\n'
  const { resolve, questions } = await setup(t, { answer: () => one(), hosts })
  for (const name of ['web', 'WEB', 'web.']) assert.deepEqual(await resolve(name), ['10.0.0.7', '::1'], name)
  assert.deepEqual(await resolve('web.internal'), ['10.0.0.7'])
  for (const name of ['localhost', 'some.localhost'])
    assert.deepEqual(await resolve(name), ['127.0.0.1', '::1'], name)
  assert.deepEqual(questions, [])
})

test('many calls that want one name at the same time are one question', async (t) => {
  const { resolve, questions } = await setup(t, { answer: () => one() })
  const found = await Promise.all(Array.from({ length: 50 }, (_, n) => resolve('target.test', `tenant ${n}`)))
  assert(found.every(([address]) => address === '192.0.2.1'))
  assert.deepEqual(questions.sort(), ['A target.test', 'AAAA target.test'])
})

test('an answer is remembered for as long as it says, and for half a minute at most', async (t) => {
  for (const [ttl, keptMs] of [
    [300, 30_000],
    [5, 5_000],
    // Otherwise each connection would be a question.
    [0, 1_000],
  ] as const) {
    const { resolve, questions, clock } = await setup(t, { answer: () => one(ttl) })
    await resolve('target.test')
    clock.nowMs = keptMs - 1
    await resolve('target.test')
    assert.equal(questions.length, 2, `${ttl} s`)
    clock.nowMs = keptMs
    await resolve('target.test')
    assert.equal(questions.length, 4, `${ttl} s`)
  }
})

test('a name that does not exist is not asked for again within five seconds', async (t) => {
  let answer: DnsAnswer = 'NXDOMAIN'
  const { resolve, questions, clock } = await setup(t, { answer: () => answer })
  for (let n = 0; n < 3; n++)
    await assert.rejects(resolve('target.test'), isNamed('ENOTFOUND', /target\.test has no address/))
  assert.equal(questions.length, 2)
  answer = one()
  clock.nowMs = 5_000
  assert.deepEqual(await resolve('target.test'), ['192.0.2.1'])
})

test('a name without addresses, or that cannot be a name, is not found', async (t) => {
  const { resolve } = await setup(t, { answer: () => ({ addresses: [], ttl: 60 }) })
  for (const name of ['target.test', `${'x'.repeat(64)}.test`, `${'x.'.repeat(200)}test`, 'a..test'])
    await assert.rejects(resolve(name), isNamed('ENOTFOUND', /has no address/), name)
})

test('a name server that fails is an error that says so and may pass', async (t) => {
  const { resolve, conf } = await setup(t, { answer: () => 'SERVFAIL' })
  await assert.rejects(resolve('target.test'), isNamed('EAI_AGAIN', /target\.test \(ESERVFAIL\)/))
  // A port that nobody listens on.
  conf.servers[0] = '127.0.0.1:1'
  const names = new NameResolver(realTimers, () => 0, { hosts: () => new Map(), conf: () => conf })
  await assert.rejects(names.resolve('a', 'target.test'), isNamed('EAI_AGAIN', /target\.test/))
})

test('a silent name server is given up after four seconds', { timeout: 30_000 }, async (t) => {
  const { resolve, questions } = await setup(t, { answer: () => 'silent', search: ['a.test', 'b.test'] })
  await assert.rejects(resolve('target.test'), isNamed('EAI_AGAIN', /target\.test \(ETIMEOUT\)/))
  // Twice for each family, and for no further name.
  assert.deepEqual([...new Set(questions)].sort(), ['A target.test', 'AAAA target.test'])
  assert.equal(questions.length, 4)
})

test('a name server that is silent about IPv6 holds up nobody, and is asked again soon', async (t) => {
  const answer = (_: string, type: DnsType) => (type === 'AAAA' ? 'silent' : one())
  const { resolve, questions, clock } = await setup(t, { answer })
  const late = AbortSignal.timeout(3_500)
  assert.deepEqual(await resolve('target.test'), ['192.0.2.1'])
  assert.equal(late.aborted, false)
  clock.nowMs = 1_000
  await resolve('target.test')
  assert.equal(questions.filter((question) => question === 'A target.test').length, 2)
})

test('IPv4 addresses that come late are waited for: a machine may reach no other', {
  timeout: 30_000,
}, async (t) => {
  const addresses = ['192.0.2.1', '2001:db8::7']
  let asked = 0
  const answer = (_: string, type: DnsType): DnsAnswer =>
    type === 'A' && asked++ === 0 ? 'silent' : { addresses, ttl: 60 }
  const { resolve } = await setup(t, { answer })
  assert.deepEqual(await resolve('target.test'), addresses)
})

test('a name server that takes a second and a half is waited for, also after fast answers to another tenant', async (t) => {
  const { resolve } = await setup(t, {
    answer: (name) => ({ ...one(), ...(name.startsWith('slow') && { afterMs: 1_500 }) }),
  })
  for (let n = 0; n < 50; n++) await resolve(`${n}.fast.test`, 'a')
  assert.deepEqual(await resolve('slow.test', 'b'), ['192.0.2.1'])
})

test('connections to a name with several addresses begin with each in turn', async (t) => {
  const addresses = ['192.0.2.1', '192.0.2.2', '2001:db8::7', '2001:db8::8']
  const { names, questions } = await setup(t, { answer: () => ({ addresses, ttl: 60 }) })
  const firsts = { 4: new Set<string>(), 6: new Set<string>() }
  for (let n = 0; n < 4; n++) {
    const found = await names.resolve('a', 'target.test')
    assert.deepEqual(
      found.map(({ family }) => family),
      [4, 4, 6, 6],
    )
    firsts[4].add(found[0]!.address)
    firsts[6].add(found[2]!.address)
    assert.equal(new Set(found.map(({ address }) => address)).size, 4)
  }
  assert.deepEqual([firsts[4].size, firsts[6].size, questions.length], [2, 2, 2])
})

test('a short name is searched for under the domains of the machine, as in Kubernetes', async (t) => {
  const search = ['jobs.svc.cluster.local', 'svc.cluster.local', 'cluster.local']
  const known = new Set(['web.jobs.svc.cluster.local', 'db.other.svc.cluster.local', 'example.com', 'bare'])
  const answer = (name: string): DnsAnswer => (known.has(name) ? one() : 'NXDOMAIN')
  const { resolve, questions } = await setup(t, { answer, search, dotsMin: 5 })
  const askedFor = async (name: string) => {
    questions.length = 0
    await resolve(name)
    return questions.filter((question) => question.startsWith('A ')).map((question) => question.slice(2))
  }
  assert.deepEqual(await askedFor('web'), ['web.jobs.svc.cluster.local'])
  assert.deepEqual(await askedFor('db.other'), [
    'db.other.jobs.svc.cluster.local',
    'db.other.svc.cluster.local',
  ])
  assert.deepEqual((await askedFor('example.com')).at(-1), 'example.com')
  assert.deepEqual(await askedFor('example.com.'), ['example.com'])
  assert.deepEqual((await askedFor('bare')).length, 4)
})

test('a name with enough dots is asked for as it is, then searched for', async (t) => {
  const answer = (name: string): DnsAnswer => (name === 'web.other.svc.test' ? one() : 'NXDOMAIN')
  const { resolve, questions } = await setup(t, { answer, search: ['svc.test'] })
  await resolve('web.other')
  assert.deepEqual(
    questions.filter((question) => question.startsWith('A ')),
    ['A web.other', 'A web.other.svc.test'],
  )
})

test('changed settings of the machine count from the next question on', async (t) => {
  const before = await startDnsServer(t, () => one())
  const after = await startDnsServer(t, () => one())
  let conf = { servers: [before.address], search: [], dotsMin: 1 }
  const names = new NameResolver(realTimers, () => 0, { hosts: () => new Map(), conf: () => conf })
  await names.resolve('a', 'one.test')
  conf = { ...conf, servers: [after.address] }
  await names.resolve('a', 'two.test')
  assert.deepEqual([before.questions.length, after.questions.length], [2, 2])
})

test('a resolver that is closed ends the questions under way and begins no other', async (t) => {
  const { names, resolve, questions } = await setup(t, {
    answer: () => 'silent',
    places: { placesOfTenantMax: 1 },
  })
  const failing = ['one.test', 'two.test'].map((name) =>
    assert.rejects(resolve(name), isNamed('EAI_AGAIN', /./)),
  )
  names[Symbol.dispose]()
  await Promise.all([...failing, assert.rejects(resolve('three.test'))])
  assert(!questions.includes('A two.test') && !questions.includes('A three.test'))
})

test('only the first of very many addresses are used', async (t) => {
  const addresses = Array.from({ length: 28 }, (_, n) => `192.0.2.${n}`)
  const { resolve } = await setup(t, { answer: () => ({ addresses, ttl: 60 }) })
  assert.equal((await resolve('target.test')).length, 16)
})

/** Calls to a target of 127.0.0.1, each of a tenant to a name. */
async function setupCalls(t: TestContext, scene: Scene) {
  const { names, questions } = await setup(t, scene)
  const server = createServer((_, response) => response.end())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanUp(t, () => server.close())
  cleanUp(t, () => server.closeAllConnections())
  const guard = createTargetGuard({
    privateTargets: { kind: 'allow' },
    resolveName: (tenantId, name) => names.resolve(tenantId, name),
    ownTenantId: 'own',
  })
  const client = new HttpClient(realTimers, () => performance.now(), { guard })
  cleanUp(t, () => client[Symbol.asyncDispose]())
  const { port } = server.address() as AddressInfo
  const call = async (tenantId: string, name: string) => {
    const outcome = await client.send({
      ...{ tenantId, method: 'GET', url: `http://${name}:${port}/`, headers: {} },
      ...{ timeoutMs: 20_000, responseBytesMax: 1_000, previewBytesMax: 1_000 },
    })
    return outcome.kind === 'answered' ? `${outcome.status}` : `${outcome.type} ${outcome.message}`
  }
  return { call, questions }
}

const here: DnsAnswer = { addresses: ['127.0.0.1'], ttl: 0 }
const silentBut = (name: string) => (asked: string) => (asked === name ? here : 'silent')

test('names whose server is silent hold up no call of another tenant', async (t) => {
  const { call, questions } = await setupCalls(t, { answer: silentBut('good.test') })
  const ended: string[] = []
  for (let n = 0; n < 400; n++)
    void call('attacker', `name-${n % 40}.slow.test`).then(() => ended.push('slow'))
  // Also a name that the attacker wants too, behind all of these.
  void call('attacker', 'good.test').then(() => ended.push('slow'))
  for (let n = 0; n < 8; n++) assert.equal(await call(`victim ${n}`, 'good.test'), '200')
  assert.deepEqual(ended, [])
  const asked = new Set(questions.filter((question) => question.endsWith('slow.test')))
  assert.equal(asked.size, 2 * 16)
})

test('tenants with silent names that take all places together leave one for the next tenant', async (t) => {
  const { call } = await setupCalls(t, {
    answer: silentBut('good.test'),
    places: { placesMax: 20, placesOfTenantMax: 5 },
  })
  const ended: string[] = []
  for (let n = 0; n < 100; n++)
    void call(`attacker ${n % 6}`, `${n}.slow.test`).then(() => ended.push('slow'))
  assert.equal(await call('victim', 'good.test'), '200')
  assert.deepEqual(ended, [])
})

test('a call whose name cannot even wait for its turn fails with an error that says so', async (t) => {
  const { call } = await setupCalls(t, {
    answer: () => 'silent',
    places: { placesOfTenantMax: 1, waitingOfTenantMax: 1 },
  })
  void call('a', '0.slow.test')
  void call('a', '1.slow.test')
  assert.match(await call('a', '2.slow.test'), /^DNS_RESOLUTION_FAILED EAI_AGAIN: too many names are being/)
})

test('a target that is an address asks no name server', async (t) => {
  const { call, questions } = await setupCalls(t, { answer: () => 'silent' })
  for (const host of ['127.0.0.1', '2130706433', '[::ffff:127.0.0.1]'])
    assert.equal(await call('a', host), '200')
  assert.deepEqual(questions, [])
})
