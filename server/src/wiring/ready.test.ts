import assert from 'node:assert/strict'
import test from 'node:test'
import { createVirtualWorld } from '../../test/virtual-world.ts'
import type { Role } from '../domain/role.ts'
import { checkReady } from './ready.ts'

function setup(roles: readonly Role[], own: Record<string, string> = {}) {
  const { clock, timers } = createVirtualWorld()
  return {
    roles,
    world: { clock, timers },
    running: { isStopping: () => false, check: () => own },
    askDatabase: async (): Promise<unknown> => null,
  }
}

test('a process is asked for the database first, then for the state of its roles', async () => {
  const worker = setup(['worker'], { worker: 'lease last renewed 9 s ago' })
  assert.deepEqual(await checkReady(worker), { database: 'ok', worker: 'lease last renewed 9 s ago' })
  const scheduler = setup(['scheduler'], { partitions: 'ok' })
  assert.deepEqual(await checkReady(scheduler), { database: 'ok', clock: 'ok', partitions: 'ok' })
})

test('a database that does not answer is named with its error', async () => {
  const history = setup(['history'], { history: 'ok' })
  history.askDatabase = () => Promise.reject(new Error('the database is away'))
  assert.deepEqual(await checkReady(history), { database: 'the database is away', history: 'ok' })
})

test('a process that stops says so, and asks nothing', async () => {
  const worker = setup(['worker'], { worker: 'ok' })
  worker.running.isStopping = () => true
  worker.askDatabase = () => assert.fail('it must not ask')
  assert.deepEqual(await checkReady(worker), { server: 'stopping' })
})
