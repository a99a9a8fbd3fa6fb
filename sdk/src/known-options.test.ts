import assert from 'node:assert/strict'
import test from 'node:test'
import { createClient } from './client.ts'
import { type AnyJob, defineJob } from './define-job.ts'
import { createTestKit } from './test-kit.ts'
import { verifySignature } from './verify-signature.ts'
import { createWorker } from './worker.ts'

// Nobody listens there: each of these must fail before anything is sent.
const connection = { url: 'http://127.0.0.1:9', key: 'crl_x' }
const plain = { key: 'report', schedule: '@daily', run: () => {} } as const
const job = defineJob(plain)
// As a program in JavaScript, which no compiler has read.
const define = defineJob as (options: object) => AnyJob

function refusal(act: () => unknown, message: string): void {
  assert.throws(act, { name: 'TypeError', message })
}

test('defineJob refuses an option that does not exist, and says which one is near', () => {
  refusal(
    () => define({ ...plain, timezome: 'UTC' }),
    'defineJob has no option timezome. Did you mean timezone?',
  )
  refusal(() => define({ ...plain, Retry: {} }), 'defineJob has no option Retry. Did you mean retry?')
  refusal(() => define({ ...plain, colour: undefined }), 'defineJob has no option colour.')
  refusal(() => define({ ...plain, toString: 1 }), 'defineJob has no option toString.')
  refusal(() => define(5 as unknown as object), 'defineJob takes an object of options.')
})

test('unknown options in the retries and the dependencies of a job are refused too', () => {
  refusal(
    () => define({ ...plain, retry: { maxRetry: 1 } }),
    'retry of report has no option maxRetry. Did you mean maxRetries?',
  )
  refusal(
    () => define({ key: 'later', run: () => {}, dependsOn: [{ job, onn: 'failure' }] }),
    'dependsOn[0] of later has no option onn. Did you mean on?',
  )
})

test('every option there is may be given, and a job may be made from another one', () => {
  const retry = { maxRetries: 1, backoff: 'FIXED', initialDelay: 1, maxDelay: 1 } as const
  const limits = { timeout: '1s', totalTimeout: '2s', heartbeatTimeout: '1s', concurrencyLimit: 1 }
  const words = { name: 'a', description: 'b', tags: ['c'], labels: ['d'], metadata: { e: 'f' } }
  const whole = define({
    ...{
      ...plain,
      key: 'whole',
      ...words,
      ...limits,
      retry,
      timezone: 'UTC',
      payload: 1,
      priority: 1,
      jitter: '1s',
    },
    ...{ overlap: 'SKIP', misfire: 'SKIP', concurrencyKey: 'k', dependsOn: [{ job, on: 'failure' }] },
    schema: undefined,
  })
  assert.equal(define({ ...whole, key: 'other' }).key, 'other')
})

test('createWorker refuses an option that does not exist before it asks the API', async () => {
  const options = { ...connection, jobs: [job], concurency: 5, signal: AbortSignal.timeout(5_000) }
  const message = 'createWorker has no option concurency. Did you mean concurrency?'
  await assert.rejects(createWorker(options), { name: 'TypeError', message })
})

test('createClient and each of its calls refuse an option that does not exist', async () => {
  refusal(
    () => createClient({ ...connection, timeout: 5 } as never),
    'createClient has no option timeout. Did you mean timeoutMs?',
  )
  const { jobs } = createClient({ ...connection, retries: 0 })
  await assert.rejects(jobs.delete('a', { dryrun: true } as object), {
    name: 'TypeError',
    message: 'DELETE /api/v1/jobs/a has no option dryrun. Did you mean dryRun?',
  })
})

test('the test kit and verifySignature refuse an option that does not exist', async () => {
  const options = { jobs: [job], now: 0 }
  refusal(
    () => createTestKit({ ...options, timeZone: 'UTC' } as never),
    'createTestKit has no option timeZone. Did you mean timezone?',
  )
  const kit = createTestKit(options)
  await assert.rejects(kit.trigger(job, 1, { parent: [] } as object), {
    name: 'TypeError',
    message: 'trigger has no option parent. Did you mean parents?',
  })
  await assert.rejects(kit.trigger(job, 1, { parents: [{ job, state: 'FAILED' } as never] }), {
    name: 'TypeError',
    message: 'parents[0] has no option state. Did you mean status?',
  })
  refusal(
    () => verifySignature({ headers: {}, body: '', secert: 'whsec_AAAA' } as never),
    'verifySignature has no option secert. Did you mean secret?',
  )
})
