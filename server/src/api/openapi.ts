// The OpenAPI 3.1 document, generated from the same schemas that validate.
import { problemId } from '@carillon/contract/problem.ts'
import type { SwaggerOptions } from '@fastify/swagger'

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
        securitySchemes: { bearer: { type: 'http', scheme: 'bearer', description: 'An API key.' } },
      },
      tags: [
        { name: 'jobs', description: 'What to run and when.' },
        { name: 'executions', description: 'What ran, and how it went.' },
        { name: 'dead letters', description: 'Executions that used up their retries and wait for a person.' },
        { name: 'schedules', description: 'When jobs run.' },
        { name: 'operations', description: 'Who runs what.' },
        { name: 'health', description: 'Probes and metrics; no key needed.' },
      ],
    },
    refResolver: { buildLocalReference: (json, _base, _fragment, i) => String(json['$id'] ?? `def-${i}`) },
  }
}

/** The answers every route may give besides its own. */
export const problemResponses = {
  '4xx': problemResponse('The request was refused.'),
  '5xx': problemResponse('Carillon failed or cannot answer now.'),
}

function problemResponse(description: string) {
  return { description, content: { 'application/problem+json': { schema: { $ref: `${problemId}#` } } } }
}

/** The query string of a call that takes none: what it would ignore is refused. */
export const noParameters = { type: 'object', properties: {}, additionalProperties: false }
