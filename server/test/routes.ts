// Every route of the API with its schemas, as the app registers it.
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { TestContext } from 'node:test'
import type { AnySchemaObject } from 'ajv'
import type { FastifyInstance, RouteOptions } from 'fastify'
import type { Part } from '../src/api/http/find-errors.ts'
import type { RequestSchema } from '../src/api/http/schema-words.ts'
import { setupApp } from './app.ts'

export const requestParts = ['body', 'querystring', 'params', 'headers'] as const

export async function collectRoutes(t: TestContext) {
  const routes: RouteOptions[] = []
  const collect = (message: unknown) => {
    const { fastify } = message as { fastify: FastifyInstance }
    fastify.addHook('onRoute', (route) => void routes.push(route))
  }
  subscribe('fastify.initialization', collect)
  const { app } = await setupApp(t)
  unsubscribe('fastify.initialization', collect)
  return { app, routes }
}

/** A body may have a schema for each media type. */
export function schemasOf(schema: AnySchemaObject | undefined): AnySchemaObject[] {
  if (schema === undefined) return []
  const media: Record<string, { schema: AnySchemaObject }> | undefined = schema['content']
  return media === undefined ? [schema] : Object.values(media).map((one) => one.schema)
}

export interface RequestSchemaAt {
  schema: RequestSchema
  part: Part
  /** As people find it: the route, the part, and the place within. */
  at: string
}

/** The schemas of all requests, each once. */
export function requestSchemasOf(routes: readonly RouteOptions[]): RequestSchemaAt[] {
  const byText = new Map<string, RequestSchemaAt>()
  for (const { method, url, schema = {} } of routes) {
    for (const part of requestParts) {
      for (const one of schemasOf(schema[part] as AnySchemaObject | undefined)) {
        const text = `${part} ${JSON.stringify(one)}`
        if (!byText.has(text))
          byText.set(text, { schema: one as RequestSchema, part, at: `${method} ${url} ${part}` })
      }
    }
  }
  return [...byText.values()]
}
