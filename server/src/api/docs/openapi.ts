// The OpenAPI 3.1 document, generated from the same schemas that validate.
import type { SwaggerOptions } from '@fastify/swagger'

const tags = [
  { name: 'jobs', description: 'The definitions of work: target, schedule and policies.' },
  { name: 'executions', description: 'Executions and their results.' },
  {
    name: 'graph runs',
    description: 'Runs of jobs that depend on each other, from the first job to the last.',
  },
  { name: 'attempts', description: 'Reports of targets about their attempts.' },
  { name: 'artifacts', description: 'Bundles of code that jobs run.' },
  { name: 'workers', description: 'Workers, and the protocol for your own workers.' },
  {
    name: 'dead letters',
    description: 'Executions that used up their retries and wait for a person to act.',
  },
  { name: 'schedules', description: 'When jobs run.' },
  { name: 'bulk', description: 'Long work started by one request, with progress.' },
  { name: 'dashboards', description: 'Counts over many executions, for overviews.' },
  { name: 'operations', description: 'Tenants, API keys, sessions, signing keys and partitions.' },
  { name: 'health', description: 'Probes and metrics; no key needed.' },
] as const
export type Tag = (typeof tags)[number]['name']

export function openapiOptions(version: string): SwaggerOptions {
  return {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Carillon',
        version,
        description: 'A distributed job scheduler: cron as a service that a team runs itself.',
        license: { name: 'MIT', identifier: 'MIT' },
      },
      components: {
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer', description: 'An API key.' },
          attemptToken: {
            type: 'apiKey',
            in: 'header',
            name: 'X-Carillon-Token',
            description:
              'The token of an attempt, as it was sent to the target; `Authorization: Bearer TOKEN` is accepted too. No API key is needed.',
          },
        },
      },
      tags: [...tags],
    },
    transformObject: (document) => {
      const { openapiObject } = document as { openapiObject: OpenApiObject }
      for (const path of Object.values(openapiObject.paths)) Object.values(path).forEach(allowNoBody)
      return openapiObject
    },
    refResolver: { buildLocalReference: (json, _base, _fragment, i) => String(json['$id'] ?? `def-${i}`) },
  }
}

interface OpenApiObject {
  paths: Record<string, Record<string, OpenApiOperation>>
}

interface OpenApiOperation {
  requestBody?: {
    required?: boolean
    content: Record<string, { schema?: { required?: readonly string[]; minProperties?: number } }>
  }
}

/** The generator calls every body required. One that may be `{}` may be left out. */
function allowNoBody({ requestBody }: OpenApiOperation): void {
  // A body that is no JSON, a bundle, has no empty form.
  if (requestBody === undefined || !('application/json' in requestBody.content)) return
  const schemas = Object.values(requestBody.content).map((media) => media.schema ?? {})
  const mayBeEmpty = schemas.every(
    ({ required = [], minProperties = 0 }) => required.length + minProperties === 0,
  )
  if (mayBeEmpty) requestBody.required = false
}
