// Schemas are compiled when they are first used, so a wrong one would not stop a start: all of them are compiled here.
import assert from 'node:assert/strict'
import test from 'node:test'
import type { AnySchemaObject } from 'ajv'
import { collectRoutes, requestParts, schemasOf } from '../../../test/routes.ts'
import { buildSerializer } from './serializers.ts'
import { createValidator } from './validators.ts'

test('every schema of every route compiles', async (t) => {
  const { app, routes } = await collectRoutes(t)
  const compile = buildSerializer(app.getSchemas())
  let compiled = 0
  for (const { method, url, schema = {} } of routes) {
    for (const part of requestParts) {
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
