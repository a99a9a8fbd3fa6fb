import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import test from 'node:test'
import { HmacSha256 } from '../../lib/hmac.ts'
import { signWebhook } from './webhook-signature.ts'

// The vector of the Standard Webhooks reference libraries.
const secret = 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const call = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestamp: 1_614_265_330, body: '{"test": 2432232314}' }

test('a call is signed as the reference libraries sign it', () => {
  const key = new HmacSha256(Buffer.from(secret, 'base64'))
  assert.equal(signWebhook([key], call), 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
})

test('with two keys it has both signatures, in their order, with a space between', () => {
  const keys = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
  const text = `${call.id}.${call.timestamp}.${call.body}`
  const expected = keys.map((key) => `v1,${createHmac('sha256', key).update(text).digest('base64')}`)
  const signature = signWebhook(
    keys.map((key) => new HmacSha256(key)),
    call,
  )
  assert.equal(signature, expected.join(' '))
})
