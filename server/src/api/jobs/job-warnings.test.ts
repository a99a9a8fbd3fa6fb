import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { setupApp, testWorker } from '../../../test/app.ts'
import type { Executor } from '../../domain/jobs/job.ts'
import type { Worker } from '../../domain/queue/worker.ts'
import { defaultTenantId } from '../../domain/tenants/tenant.ts'

const sha256 = 'a'.repeat(64)
const artifact = { type: 'artifact', artifact_id: 'report', entrypoint: 'main:run' }

async function setup(t: TestContext) {
  const { call, memory } = await setupApp(t)
  const bodyOf = (execution: object) => ({ name: 'a', schedule: '@daily', execution })
  return {
    call,
    bodyOf,
    async create(execution: object) {
      const answer = await call('POST', '/jobs', bodyOf(execution))
      assert.equal(answer.statusCode, 201, answer.body)
      return answer.json() as { job_id: string; warnings?: string[] }
    },
    addWorker: (executors: Executor[], changes: Partial<Worker> = {}) =>
      memory.leases.register({ ...testWorker(changes), executors }),
    upload: () =>
      memory.artifacts.put({
        tenantId: defaultTenantId,
        artifactId: 'report',
        sha256,
        content: new Uint8Array(),
        by: 'a',
      }),
  }
}

test('a job whose executor no worker may run, or whose artifact is not there, is accepted with a warning of each', async (t) => {
  const { create, addWorker, upload } = await setup(t)
  await addWorker(['http'])
  const first = await create(artifact)
  assert.equal(first.warnings?.length, 2)
  assert.match(
    first.warnings![0]!,
    /^At present no worker that may run artifacts is up; CARILLON_ARTIFACTS=on/,
  )
  assert.match(first.warnings![1]!, /^There is no artifact report: until it is uploaded, executions/)
  const shell = { type: 'shell', command: '/bin/true' }
  assert.match((await create(shell)).warnings![0]!, /no worker that may run shell commands is up/)

  await upload()
  assert.equal((await create(artifact)).warnings?.length, 1, 'it is there now')
  const other = await create({ ...artifact, sha256: 'b'.repeat(64) })
  assert.match(
    other.warnings![1]!,
    /^The artifact report has the checksum a+, and the job wants b+: executions/,
  )
})

test('nothing is said of a job that can run, nor of a handler or a call whose worker may come later', async (t) => {
  const { create, addWorker, upload } = await setup(t)
  for (const execution of [{ type: 'worker', handler: 'x' }, { callback_url: 'http://127.0.0.1/' }])
    assert(!('warnings' in (await create(execution))))
  await addWorker(['shell', 'artifact'])
  await upload()
  for (const execution of [artifact, { ...artifact, sha256 }, { type: 'shell', command: '/bin/true' }])
    assert(!('warnings' in (await create(execution))))
})

test('our worker is found behind a thousand older ones of other tenants', async (t) => {
  const { create, addWorker, upload } = await setup(t)
  for (let number = 0; number < 1_000; number++) {
    const workerId = `0192abcd-ef01-7000-8000-${String(number).padStart(12, '0')}`
    await addWorker(['worker'], { workerId, tenantId: defaultTenantId, handlers: ['report'] })
  }
  await addWorker(['artifact'], { workerId: '0192abcd-ef01-7000-8000-000000001000' })
  await upload()
  assert(!('warnings' in (await create(artifact))))
})

test('an edit and a PUT by key warn too', async (t) => {
  const { call, bodyOf, create, addWorker } = await setup(t)
  await addWorker(['artifact'])
  const missing = /^There is no artifact report/
  const { job_id: id } = await create({ callback_url: 'http://127.0.0.1/' })
  const edit = await call('PATCH', `/jobs/${id}`, { execution: artifact }, { 'if-match': '"1"' })
  assert.equal(edit.statusCode, 200, edit.body)
  assert.match(edit.json().warnings[0], missing)
  for (const status of [201, 200]) {
    const put = await call('PUT', '/jobs/by-key/k', bodyOf(artifact))
    assert.equal(put.statusCode, status, put.body)
    assert.match(put.json().warnings[0], missing)
  }
})
