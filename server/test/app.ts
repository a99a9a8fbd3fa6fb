// The real API app on the in-memory twin, for tests of the edge.
import type { TestContext } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { type AppDeps, createApp } from '../src/api/app.ts'
import { MemoryWorkers } from '../src/store/memory/workers.ts'
import { cleanUp } from './cleanup.ts'
import { createVirtualWorld } from './virtual-world.ts'

export const operatorKey = 'crl_test-operator-key'

export interface AppChanges extends Partial<AppDeps> {
  /** Adds routes before the app is ready. */
  extend?: (app: FastifyInstance) => void
}

export async function setupApp(t: TestContext, { extend, ...changes }: AppChanges = {}) {
  const world = createVirtualWorld()
  const workers = new MemoryWorkers(world.clock)
  const app = await createApp({
    clock: world.clock,
    timers: world.timers,
    workers,
    operatorKey,
    homePage: '<!doctype html><title>Carillon</title>',
    isStopping: () => false,
    health: {
      version: '1.2.3',
      roles: ['api'],
      checkReady: async () => ({ database: 'ok' }),
      metrics: { contentType: 'text/plain', read: async () => 'carillon_info 1\n' },
    },
    ...changes,
  })
  extend?.(app)
  cleanUp(t, () => app.close())
  const get = (url: string, headers: Record<string, string> = {}) =>
    app.inject({ method: 'GET', url, headers })
  return { app, world, workers, get }
}
