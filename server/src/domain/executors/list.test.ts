import assert from 'node:assert/strict'
import test from 'node:test'
import { EXECUTORS, fieldsOf } from '@carillon/contract/executors/list.ts'
import { executorOfRoute, routeOf } from '../queue/route.ts'
import { EXECUTOR_KINDS, type Execution, fixedRoutes, kindsAllowed } from './list.ts'

/** A call of this kind with something in every field. */
function exampleOf(type: (typeof EXECUTORS)[number]): Execution {
  const own = fieldsOf(type).map(([name, { shape }]) => [
    name,
    shape === 'text' ? '/a' : shape === 'list' ? ['a'] : { A: 'b' },
  ])
  return { type, ...Object.fromEntries(own), timeout_seconds: 1 } as Execution
}

for (const type of EXECUTORS) {
  test(`${type}: its route leads back to it, and there is a sentence for when no worker runs it`, () => {
    const execution = exampleOf(type)
    assert.equal(executorOfRoute(routeOf({ execution, tenantId: 't' })), type)
    assert.match(EXECUTOR_KINDS[type].nobodyText(execution), /^no worker /)
  })
}

test('no two kinds share a route', () => {
  const routes = [...fixedRoutes(false), ...fixedRoutes(true)]
  assert.equal(new Set(routes).size, routes.length)
})

test('without settings a server starts no process for executors', () => {
  const limits = { artifactCpuSeconds: 1, artifactMemoryMb: 1 }
  const nothing = { dataDir: '', shellCommands: [], artifacts: false, artifactsDir: null, ...limits }
  assert.deepEqual(kindsAllowed(nothing, true), [])
  assert.deepEqual(
    kindsAllowed({ ...nothing, shellCommands: [{ path: '/a', env: [] }], artifacts: true }, true),
    ['shell', 'artifact'],
  )
})
