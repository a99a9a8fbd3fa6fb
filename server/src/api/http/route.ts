// The description of a route as Fastify takes it: the scope it wants, its schemas, and the answers that every route may
// give besides its own. Writes have more in common: http/write.ts.
import { problemId } from '@carillon/contract/problem.ts'
import type { FastifyContextConfig, FastifySchema } from 'fastify'
import type { Tag } from '../docs/openapi.ts'

export type RouteScope = NonNullable<FastifyContextConfig['scope']> | null

export interface RouteDescription<Options extends object>
  extends Pick<FastifyContextConfig, 'bodies' | 'counted' | 'rules'>,
    Omit<FastifySchema, 'tags' | 'summary' | 'response' | 'querystring'> {
  /** Default: it takes no parameters. */
  querystring?: object
  /** The body of the 200. */
  answer?: object
  /** Other answers than a 200, by status. */
  response?: Readonly<Record<number, object>>
  /** Hooks and limits of its own, as Fastify names them. */
  options?: Options
}

/** `scope` null: it is called without an API key. */
export function route<Options extends object>(
  tag: Tag,
  scope: RouteScope,
  summary: string,
  described: RouteDescription<Options>,
) {
  const { bodies, counted, rules, answer, response = { 200: answer! }, options, ...schema } = described
  return {
    ...(options as Options),
    config: {
      ...(scope && { scope }),
      ...(bodies !== undefined && { bodies }),
      ...(counted !== undefined && { counted }),
      ...(rules !== undefined && { rules }),
    },
    schema: {
      tags: [tag],
      summary,
      security: [{ bearer: [] }],
      querystring: noParameters,
      ...schema,
      response: { ...response, ...problemResponses },
    },
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

/** Of calls without an API key, with the token of an attempt. */
export const tokenSecurity = [{ attemptToken: [] }]

/** The body of a call that takes none: `{}`, or nothing at all. */
export const noFields = { type: 'object', properties: {}, additionalProperties: false, examples: [{}] }

/** The query string of a call that takes none: parameters that would be ignored are refused. */
export const noParameters = { type: 'object', properties: {}, additionalProperties: false }
