import assert from 'node:assert/strict'
import test from 'node:test'
import { assertProblem, operatorKey, setupApp } from '../../../test/app.ts'

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
const headers = { authorization: `Bearer ${operatorKey}` }
const id = '00000000-0000-7000-8000-00000000000f'

interface Document {
  paths: Record<string, Record<string, unknown>>
}

test('every documented path refuses the methods it lacks with 405 and names the others in Allow', async (t) => {
  const { app, get } = await setupApp(t)
  const { paths }: Document = (await get('/openapi.json')).json()
  let refused = 0
  for (const [path, operations] of Object.entries(paths)) {
    const url = path.replaceAll(/\{\w+\}/g, id)
    const documented = Object.keys(operations).map((verb) => verb.toUpperCase())
    for (const method of methods) {
      const answer = await app.inject({ method, url, headers })
      if (documented.includes(method)) {
        assert.notEqual(answer.statusCode, 405, `${method} ${path}`)
        continue
      }
      // A fixed name such as /jobs/bulk also matches the id in /jobs/{job_id}, so the methods of that path answer.
      if (answer.json().code !== 'METHOD_NOT_ALLOWED') {
        const isAlsoId = Object.entries(paths).some(
          ([other, { [method.toLowerCase()]: operation }]) =>
            operation !== undefined && new RegExp(`^${other.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(url),
        )
        assert(isAlsoId, `${method} ${path} gives ${answer.statusCode} ${answer.body}`)
        continue
      }
      refused += 1
      assertProblem(answer, 'METHOD_NOT_ALLOWED')
      const allowed = String(answer.headers['allow']).split(', ')
      assert(!allowed.includes(method), `${method} ${path}: ${allowed}`)
      for (const one of documented) assert(allowed.includes(one), `${path} lacks ${one} in ${allowed}`)
      if (allowed.includes('HEAD')) assert(allowed.includes('GET'), `${path} has ${allowed}`)
    }
  }
  assert(refused > 150, `${refused} refused`)
})

test('pages and files refuse a wrong method with 405 too, also without a key', async (t) => {
  const { app } = await setupApp(t)
  for (const url of ['/', '/docs', '/openapi.json', '/livez', '/api/v1/jobs?limit=5']) {
    const answer = await app.inject({ method: 'DELETE', url })
    assertProblem(answer, 'METHOD_NOT_ALLOWED')
    assert.match(String(answer.headers['allow']), /\bGET, HEAD\b/)
  }
  assertProblem(await app.inject({ method: 'POST', url: '/assets/a.js' }), 'METHOD_NOT_ALLOWED')
  assertProblem(await app.inject({ method: 'GET', url: '/assets/a.js' }), 'ROUTE_NOT_FOUND')
})

test('a path may be written encoded, and a parameter may hold an encoded slash', async (t) => {
  const { app } = await setupApp(t)
  const encoded = await app.inject({ method: 'POST', url: '/api/v1/%6aobs/by-key/a%2Fb' })
  assertProblem(encoded, 'METHOD_NOT_ALLOWED')
  assert.match(String(encoded.headers['allow']), /\bPUT\b/)
})

test('an unknown path is 404 for every method, with no Allow header', async (t) => {
  const { app } = await setupApp(t)
  for (const method of methods) {
    for (const url of ['/nope', '/api/v1/nope', '/api/v1/jobs/a/b/c', '/api/v1/job', '/api/v1/jobs/a/']) {
      const answer = await app.inject({ method, url, headers })
      assert.equal(answer.statusCode, 404, `${method} ${url} gives ${answer.body}`)
      assert.equal(answer.headers['allow'], undefined)
    }
  }
})

test('HEAD answers where GET does, and HEAD or OPTIONS elsewhere is 404 as before', async (t) => {
  const { app } = await setupApp(t)
  assert.equal((await app.inject({ method: 'HEAD', url: '/livez' })).statusCode, 200)
  assert.equal((await app.inject({ method: 'HEAD', url: '/api/v1/workers/claim' })).statusCode, 404)
  assert.equal((await app.inject({ method: 'OPTIONS', url: '/livez' })).statusCode, 404)
})
