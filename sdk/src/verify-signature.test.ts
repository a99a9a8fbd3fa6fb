import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import test from 'node:test'
import { type SignatureErrorCode, type SignatureOptions, verifySignature } from './verify-signature.ts'

// The vector of the reference libraries of standardwebhooks.com.
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const headers = {
  'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  'webhook-timestamp': '1614265330',
  'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
}
const genuine: SignatureOptions = { secret, headers, body: '{"test": 2432232314}', nowMs: 1_614_265_330_000 }

function assertRefused(change: Partial<SignatureOptions>, code: SignatureErrorCode): void {
  assert.throws(() => verifySignature({ ...genuine, ...change }), { name: 'SignatureError', code })
}

test('a Standard Webhooks signature is genuine, however the request is passed', () => {
  const message = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestamp: new Date(1_614_265_330_000) }
  assert.deepEqual(verifySignature(genuine), message)
  assert.deepEqual(verifySignature({ ...genuine, body: Buffer.from(genuine.body) }), message)
  assert.deepEqual(verifySignature({ ...genuine, headers: new Headers(headers) }), message)
  assert.deepEqual(verifySignature({ ...genuine, secret: secret.slice(6) }), message)
  const upper = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]),
  )
  assert.deepEqual(verifySignature({ ...genuine, headers: upper }), message)
})

test('one signature of several and one key of several are enough', () => {
  const other = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'
  const { secret: _, ...rest } = genuine
  verifySignature({ ...rest, secrets: [other, secret] })
  const signature = `v1,${Buffer.alloc(32).toString('base64')} v1a,xxx ${headers['webhook-signature']}`
  verifySignature({ ...genuine, headers: { ...headers, 'webhook-signature': signature } })
  assertRefused({ secret: other }, 'SIGNATURE_MISMATCH')
})

test('a changed body, id, time or signature is refused', () => {
  assertRefused({ body: '{"test": 2432232315}' }, 'SIGNATURE_MISMATCH')
  assertRefused({ headers: { ...headers, 'webhook-id': 'msg_other' } }, 'SIGNATURE_MISMATCH')
  assertRefused({ headers: { ...headers, 'webhook-timestamp': '1614265331' } }, 'SIGNATURE_MISMATCH')
  for (const signature of ['v1,', 'v1,AAAA', 'g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=', 'v2,x', ',']) {
    assertRefused({ headers: { ...headers, 'webhook-signature': signature } }, 'SIGNATURE_MISMATCH')
  }
})

test('an old request is refused though it is genuine, and so is one from the future', () => {
  const at = (seconds: number) => ({ nowMs: (1_614_265_330 + seconds) * 1_000 })
  verifySignature({ ...genuine, ...at(300) })
  verifySignature({ ...genuine, ...at(-300) })
  assertRefused(at(301), 'TIMESTAMP_TOO_OLD')
  assertRefused(at(-301), 'TIMESTAMP_TOO_NEW')
  assertRefused({ ...at(6), toleranceSeconds: 5 }, 'TIMESTAMP_TOO_OLD')
  for (const timestamp of ['', 'now', '1e9', '-1', '9'.repeat(30)]) {
    const code = timestamp === '' ? 'HEADER_MISSING' : 'TIMESTAMP_INVALID'
    assertRefused({ headers: { ...headers, 'webhook-timestamp': timestamp } }, code)
  }
})

test('a header that is missing is named, and so is a secret that is none', () => {
  for (const name of Object.keys(headers)) {
    assert.throws(() => verifySignature({ ...genuine, headers: { ...headers, [name]: undefined } }), {
      code: 'HEADER_MISSING',
      message: `The header ${name} is missing.`,
    })
  }
  assert.throws(() => verifySignature({ ...genuine, secret: 'whsec_§' }), /secret must be whsec_ and base64/)
  const { secret: _, ...rest } = genuine
  assert.throws(() => verifySignature(rest), /secret or secrets is required/)
})

test('a body with any bytes is signed as it is', () => {
  const body = Buffer.from([0, 255, 10, 13, 128])
  const digest = createHmac('sha256', Buffer.from(secret.slice(6), 'base64'))
    .update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.`)
    .update(body)
    .digest('base64')
  verifySignature({ ...genuine, body, headers: { ...headers, 'webhook-signature': `v1,${digest}` } })
})
