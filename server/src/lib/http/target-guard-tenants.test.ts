import assert from 'node:assert/strict'
import test from 'node:test'
import { cleanUp } from '../../../test/cleanup.ts'
import { answering, check, lookup } from '../../../test/target-guards.ts'
import { ALLOWED, FORBIDDEN } from '../../../test/target-spellings.ts'
import { realTimers } from '../time/timers.ts'
import { HttpClient } from './client.ts'
import {
  createTargetGuard,
  NoCallableAddress,
  type PrivateTargets,
  type RefusedTarget,
  type ResolveName,
  type TargetGuard,
} from './target-guard.ts'

const setting = 'CARILLON_ALLOW_PRIVATE_TARGETS'
const own = 'http://127.0.0.1:7420'

/** As on loopback without a setting: private targets for the own tenant alone. */
function createOwnGuard(resolveName: ResolveName, ownOrigin: string | null = own) {
  const refused: RefusedTarget[] = []
  const guard = createTargetGuard({
    ...{ privateTargets: { kind: 'own_tenant' }, resolveName, ownTenantId: 'default' },
    ...{ ownOrigin: () => ownOrigin, onRefused: (one) => void refused.push(one) },
  })
  return { guard, refused }
}

test('on loopback the own tenant may call private addresses, and another tenant none of them in any spelling', async () => {
  const { guard } = createOwnGuard(answering(['127.0.0.1'], ['10.0.0.7']))
  for (const [kind, urls] of Object.entries(FORBIDDEN)) {
    for (const url of urls) {
      const refusal = check(guard, url, 'other') ?? 'allowed'
      assert(refusal.includes(`${kind} address`) && refusal.includes(setting), `${url}: ${refusal}`)
      if (kind === 'loopback' || kind === 'private') assert.equal(check(guard, url), null, url)
      if (kind === 'link-local') assert.notEqual(check(guard, url), null, url)
    }
  }
  for (const url of ALLOWED) assert.equal(check(guard, url, 'other'), null, url)
  assert.equal((await lookup(guard, 'inside.example')).length, 1)
  await assert.rejects(lookup(guard, 'inside.example', { tenantId: 'other' }), NoCallableAddress)
})

test('another tenant may call /echo of this server, exactly that', async () => {
  const { guard } = createOwnGuard(answering(['127.0.0.1']))
  for (const path of ['/echo', '/echo?status=503&delay_ms=5'])
    assert.equal(check(guard, own, 'other', path), null, path)
  for (const path of ['/', '/api/v1/jobs', '/metrics', '/echo/', '/echo/x', '/echoes', '/ECHO', '/%65cho'])
    assert.notEqual(check(guard, own, 'other', path), null, path)
  const others = [
    ...['http://127.0.0.1:7421', 'https://127.0.0.1:7420', 'http://127.0.0.2:7420', 'http://127.0.0.1'],
    ...['http://[::1]:7420', 'http://localhost:7420', 'http://10.0.0.1:7420'],
  ]
  for (const origin of others) assert.notEqual(check(guard, origin, 'other', '/echo'), null, origin)
  // As the client parses the URL of a job.
  const climbing = new URL('http://127.0.0.1:7420/echo/../metrics')
  assert.notEqual(check(guard, climbing.origin, 'other', climbing.pathname), null)
  const name = 'http://rebind.example:7420'
  await assert.rejects(
    lookup(guard, 'rebind.example', { tenantId: 'other', origin: name }),
    NoCallableAddress,
  )
})

test('a server that listens on a name lets its own name through to loopback only', async () => {
  const origin = 'http://localhost:7420'
  const { guard } = createOwnGuard(answering(['127.0.0.1', '::1'], ['10.0.0.7']), origin)
  assert.equal(check(guard, origin, 'other', '/echo'), null)
  assert.notEqual(check(guard, origin, 'other', '/metrics'), null)
  assert.equal((await lookup(guard, 'localhost', { tenantId: 'other', origin })).length, 2)
  await assert.rejects(lookup(guard, 'localhost', { tenantId: 'other', origin }), NoCallableAddress)
})

test('with an explicit setting all tenants are alike, and /echo is a target like any other', () => {
  const settings = [
    { kind: 'allow' },
    { kind: 'refuse' },
    { kind: 'listed', cidrs: ['127.0.0.0/8'] },
  ] satisfies PrivateTargets[]
  const verdicts = settings.map((privateTargets) => {
    const guard = createTargetGuard({
      ...{ privateTargets, resolveName: answering([]), ownTenantId: 'default', ownOrigin: () => own },
    })
    return ['default', 'other'].flatMap((tenantId) =>
      [own, 'http://10.0.0.1'].map((origin) => check(guard, origin, tenantId, '/echo') === null),
    )
  })
  assert.deepEqual(verdicts, [
    [true, true, true, true],
    [false, false, false, false],
    [true, false, true, false],
  ])
})

test('another tenant cannot tell a name with a private address from one that does not exist', async () => {
  const failing = async (error: { code: string; message: string }, tenantId: string) => {
    const resolveName = () => Promise.reject(Object.assign(new Error(error.message), { code: error.code }))
    const { guard } = createOwnGuard(resolveName)
    return lookup(guard, 'a.example', { tenantId }).catch((failure: Error) => failure)
  }
  const { guard, refused } = createOwnGuard(answering(['10.0.0.7'], ['169.254.169.254'], ['127.0.0.1']))
  const told: unknown[] = [await failing({ code: 'ENOTFOUND', message: 'no a.example' }, 'other')]
  for (let i = 0; i < 3; i++)
    told.push(await lookup(guard, 'a.example', { tenantId: 'other' }).catch((error: Error) => error))
  for (const error of told) {
    assert(error instanceof NoCallableAddress)
    assert.equal(error.message, (told[0] as Error).message)
  }
  // The operator has the detail in the log, once, and the own tenant in its error.
  assert.deepEqual(refused, [
    { tenantId: 'other', host: 'a.example', address: '10.0.0.7', kind: 'a private' },
  ])
  const ofOwn = await failing({ code: 'ENOTFOUND', message: 'no a.example' }, 'default')
  assert.equal((ofOwn as Error).message, 'no a.example')
  const later = await failing({ code: 'EAI_AGAIN', message: 'the name server is silent' }, 'other')
  assert.equal((later as Error).message, 'the name server is silent')
})

test('only the own tenant is told the address of a target that cannot be reached', async (t) => {
  const { guard } = createOwnGuard(() => Promise.resolve([{ address: '127.0.0.1', family: 4 }]))
  const allowing = createTargetGuard({
    ...{ privateTargets: { kind: 'allow' }, ownTenantId: 'default' },
    resolveName: () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]),
  })
  const send = async (of: TargetGuard, tenantId: string) => {
    const client = new HttpClient(realTimers, () => performance.now(), { guard: of })
    cleanUp(t, () => client[Symbol.asyncDispose]())
    const outcome = await client.send({
      ...{ tenantId, method: 'GET', url: 'http://closed.example:1/', headers: {} },
      ...{ timeoutMs: 20_000, responseBytesMax: 1_000, previewBytesMax: 100 },
    })
    assert(outcome.kind === 'failed')
    return [outcome.type, outcome.message]
  }
  const [type, detail] = await send(guard, 'default')
  assert.equal(type, 'CONNECTION_REFUSED')
  assert.match(detail!, /ECONNREFUSED.*127\.0\.0\.1:1/)
  assert.deepEqual(await send(allowing, 'other'), [
    'CONNECTION_REFUSED',
    'no connection: the target is away, or does not accept any',
  ])
  assert.equal((await send(guard, 'other'))[0], 'DNS_RESOLUTION_FAILED')
})
