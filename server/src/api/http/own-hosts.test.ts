import assert from 'node:assert/strict'
import test from 'node:test'
import { assertProblem, setupApp } from '../../../test/app.ts'
import { ownHostsOf } from './own-hosts.ts'

test('on loopback only our own names are answered, on any port', async (t) => {
  const { get } = await setupApp(t, { hosts: ownHostsOf('127.0.0.1', 'https://Jobs.example.com:8443/') })
  const own = ['127.0.0.1', '127.0.0.1:7420', 'localhost:9', 'LOCALHOST', '[::1]:7420', '[::1]']
  for (const host of [...own, 'jobs.example.com', 'JOBS.example.com:8443'])
    assert.equal((await get('/metrics', { host })).statusCode, 200, host)
  const strange = ['evil.example', 'evil.example:7420', 'localhost.evil.example', '127.0.0.1.evil.example']
  for (const host of [...strange, 'a@localhost', '127.0.0.2', '[::1', ':7420'])
    for (const path of ['/metrics', '/echo', '/docs', '/', '/openapi.json', '/api/v1/jobs', '/nowhere'])
      assertProblem(await get(path, { host }), 'WRONG_HOST')
})

test('log-in from a page of another name is refused', async (t) => {
  const { call } = await setupApp(t, { hosts: ownHostsOf('localhost', null) })
  const evil = { host: 'evil.example', origin: 'http://evil.example' }
  const answer = await call('POST', '/session', { key: 'x' }, evil)
  assertProblem(answer, 'WRONG_HOST')
  assert.match(answer.json().detail, /evil\.example/)
})

test('probes answer to every name, and so does a server that is not on loopback', async (t) => {
  const loopback = await setupApp(t, { hosts: ownHostsOf('::1', null) })
  const host = 'node-17.cluster.local'
  for (const path of ['/livez', '/readyz?verbose'])
    assert.equal((await loopback.get(path, { host })).statusCode, 200)
  const open = await setupApp(t)
  for (const path of ['/livez', '/metrics', '/echo'])
    assert.equal((await open.get(path, { host })).statusCode, 200)
})
