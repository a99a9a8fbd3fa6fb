import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import test from 'node:test'
import { readAttemptToken } from '../domain/queue/attempt-token.ts'
import { HmacSha256 } from '../lib/hmac.ts'
import { epochMs } from '../lib/time/epoch.ts'
import { CallSigner } from './call-signer.ts'

const tokenKey = Buffer.alloc(32, 9)
const tenantA = '019b7a00-4c00-7000-8000-00000000000a'
const tenantB = '019b7a00-4c00-7000-8000-00000000000b'
const executionId = '019b7a00-4c00-7000-8000-0000000000a7'

function setup() {
  const keys = new Map([
    [tenantA, [Buffer.alloc(32, 1)]],
    [tenantB, [Buffer.alloc(32, 2)]],
  ])
  const asked: string[][] = []
  let tokenKeys = 0
  let isAway = false
  const signer = new CallSigner({
    async tokenKey() {
      tokenKeys += 1
      return tokenKey
    },
    async signingKeys(tenantIds) {
      asked.push([...tenantIds])
      if (isAway) throw new Error('the database is away')
      return tenantIds.flatMap((tenantId) => {
        const found = keys.get(tenantId)
        return found === undefined
          ? []
          : [{ tenantId, keys: found, createdAt: epochMs(0), previousUntil: null }]
      })
    },
  })
  const call = { executionId, attempt: 2, fence: 3, timestamp: 1_767_225_600, body: '{}' }
  return {
    ...{ keys, asked, signer },
    tokenKeysAsked: () => tokenKeys,
    setAway(away: boolean) {
      isAway = away
    },
    sign: (tenantId: string) => signer.sign({ tenantId, ...call }),
    expected: (...given: Buffer[]) =>
      given
        .map((key) => createHmac('sha256', key).update(`${executionId}.1767225600.{}`).digest('base64'))
        .map((signature) => `v1,${signature}`)
        .join(' '),
  }
}

test('a call is signed with the keys of its tenant, and has the token of its attempt', async () => {
  const { signer, sign, keys, expected } = setup()
  keys.set(tenantA, [Buffer.alloc(32, 3), Buffer.alloc(32, 1)])
  await signer.load(new Set([tenantA, tenantB]))
  const { signature, token } = sign(tenantA)
  assert.equal(signature, expected(Buffer.alloc(32, 3), Buffer.alloc(32, 1)))
  assert.equal(sign(tenantB).signature, expected(Buffer.alloc(32, 2)))
  assert.deepEqual(readAttemptToken(new HmacSha256(tokenKey), executionId, token), {
    ...{ tenantId: tenantA, executionId, attempt: 2, fence: 3 },
  })
})

test('the keys of all unknown tenants are fetched in one query, once', async () => {
  const { signer, asked, tokenKeysAsked } = setup()
  await signer.load(new Set([tenantA]))
  await signer.load(new Set([tenantA]))
  await signer.load(new Set([tenantA, tenantB]))
  assert.deepEqual([asked, tokenKeysAsked()], [[[tenantA], [tenantB]], 1])
})

test('a new key is used after a refresh, and keys that are not used any more are forgotten', async () => {
  const { signer, asked, keys, sign, expected } = setup()
  await signer.load(new Set([tenantA, tenantB]))
  await signer.refresh()
  keys.set(tenantA, [Buffer.alloc(32, 4), Buffer.alloc(32, 1)])
  sign(tenantA)
  await signer.refresh()
  assert.deepEqual(asked.slice(1), [[tenantA, tenantB], [tenantA]])
  assert.equal(sign(tenantA).signature, expected(Buffer.alloc(32, 4), Buffer.alloc(32, 1)))
  assert.throws(() => sign(tenantB), /before its keys were loaded/)
})

test('while the store is away the known keys stay in use', async () => {
  const { signer, setAway, sign, expected } = setup()
  await signer.load(new Set([tenantA]))
  setAway(true)
  await assert.rejects(signer.refresh())
  await assert.rejects(signer.refresh())
  assert.equal(sign(tenantA).signature, expected(Buffer.alloc(32, 1)))
  setAway(false)
  await signer.refresh()
  assert.equal(sign(tenantA).signature, expected(Buffer.alloc(32, 1)))
})

test('a deleted tenant has no keys and does not delay other tenants', async () => {
  const { signer, sign, keys, expected } = setup()
  keys.delete(tenantB)
  await signer.load(new Set([tenantA, tenantB]))
  assert.deepEqual([sign(tenantA).signature, sign(tenantB).signature], [expected(Buffer.alloc(32, 1)), ''])
})
