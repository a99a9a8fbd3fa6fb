// Schemas are compiled when they are first used, so a wrong one would not stop a start: all of them are compiled here.
import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import test from 'node:test'
import type { AnySchemaObject } from 'ajv'
import type { FastifyInstance, RouteOptions } from 'fastify'
import { setupApp } from '../../../test/app.ts'
import { buildSerializer } from './serializers.ts'
import { createValidator } from './validators.ts'

test('every schema of every route compiles', async (t) => {
  const routes: RouteOptions[] = []
  const collect = (message: unknown) => {
    const { fastify } = message as { fastify: FastifyInstance }
    fastify.addHook('onRoute', (route) => void routes.push(route))
  }
  subscribe('fastify.initialization', collect)
  const { app } = await setupApp(t)
  unsubscribe('fastify.initialization', collect)
  const compile = buildSerializer(app.getSchemas())
  let compiled = 0
  for (const { method, url, schema = {} } of routes) {
    for (const part of ['body', 'querystring', 'params', 'headers'] as const) {
      for (const one of schemasOf(schema[part] as AnySchemaObject | undefined)) {
        assert.doesNotThrow(() => createValidator(one)({}), `${method} ${url}: ${part}`)
        compiled += 1
      }
    }
    for (const [status, answer] of Object.entries(schema.response ?? {})) {
      const serialize = compile({ schema: answer, method: 'GET', url, httpStatus: status })
      try {
        serialize({})
      } catch (error) {
        assert.match(
          String(error),
          / is required!$|does not match schema definition/,
          `${method} ${url}: ${status}`,
        )
      }
      compiled += 1
    }
  }
  assert(compiled > 400, `only ${compiled} schemas`)
})

/** A body may have a schema for each media type. */
function schemasOf(schema: AnySchemaObject | undefined): AnySchemaObject[] {
  if (schema === undefined) return []
  const media: Record<string, { schema: AnySchemaObject }> | undefined = schema['content']
  return media === undefined ? [schema] : Object.values(media).map((one) => one.schema)
}
