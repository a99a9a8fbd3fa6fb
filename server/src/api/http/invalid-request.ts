// All mistakes of a request in one answer: of every part of it, and by the rules of its route that a schema cannot
// express. The first one gives the answer its code and its detail.
import type { FieldError } from '@carillon/contract/problem.ts'
import type { FastifyRequest } from 'fastify'
import { ApiError } from './api-error.ts'
import { countedMax, Findings, SchemaRefusal } from './findings.ts'
import { count } from './schema-words.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * The refusals of a request whose schema is broken elsewhere, by the rules that look at sound fields only; a pointer
     * is sound if nothing is wrong there or below. A request with a sound schema is judged by its handler alone.
     */
    rules?: (request: FastifyRequest, isSound: (pointer: string) => boolean) => readonly ApiError[]
  }
}

/** In the order in which Fastify validates them. */
const parts = [
  ['params', 'params'],
  ['body', 'body'],
  ['querystring', 'query'],
  ['headers', 'headers'],
] as const

/** A refusal of one part, with the mistakes of all parts. */
export function refuseRequest(request: FastifyRequest, first: SchemaRefusal | ApiError): ApiError {
  const findings = new Findings()
  if (first instanceof ApiError) for (const error of first.errors) findings.add(error)
  else findings.addAll(first.findings)
  for (const [part, field] of parts) {
    const validate = request.getValidationFunction(part)
    const isTold = first instanceof SchemaRefusal && first.part === part
    if (isTold || typeof validate !== 'function') continue
    const { error } = validate(request[field]) as unknown as { error?: unknown }
    if (!(error instanceof SchemaRefusal)) continue
    // That the body is empty adds nothing to a refusal that names a missing field.
    const isOfWhole = error.findings.errors[0]?.pointer === ''
    if (!(isOfWhole && first instanceof ApiError)) findings.addAll(error.findings)
  }
  const isSound = (pointer: string) => !findings.isWrong(pointer)
  const refusals = request.routeOptions.config.rules?.(request, isSound) ?? []
  return join(first instanceof ApiError ? first : invalidRequest(findings), findings, refusals)
}

/** A request that its schema refuses. */
export function invalidRequest(findings: Findings): ApiError {
  const { errors, count } = findings
  const errorsOmitted = count - errors.length
  return new ApiError('INVALID_REQUEST', sentenceOf(errors[0]!), errors, { errorsOmitted })
}

/** Several refusals of one request as one: the first, with the fields of all. */
export function joinRefusals([first, ...rest]: readonly [ApiError, ...ApiError[]]): ApiError {
  if (rest.length === 0) return first
  const findings = new Findings()
  for (const error of first.errors) findings.add(error)
  return join(first, findings, rest, first.errorsOmitted)
}

function join(first: ApiError, findings: Findings, rest: readonly ApiError[], omitted = 0): ApiError {
  let errorsOmitted = omitted
  for (const refusal of rest) {
    errorsOmitted += refusal.errorsOmitted
    // A field error says its own code where that of the answer is another one.
    const own = refusal.code === 'INVALID_REQUEST' ? {} : { code: refusal.code }
    for (const error of refusal.errors) findings.add({ ...own, ...error })
  }
  errorsOmitted += findings.count - findings.errors.length
  const { code, message, retryAfterSeconds, executionStatus } = first
  const circumstances = { retryAfterSeconds, executionStatus, errorsOmitted }
  return new ApiError(code, message, findings.errors, circumstances)
}

/** The empty pointer is the body. */
export function sentenceOf({ pointer, detail }: FieldError): string {
  return `${pointer === '' ? 'The body' : pointer} ${detail}${detail.endsWith('?') ? '' : '.'}`
}

/** Said behind the first error. */
export function moreText(listed: number, omitted: number): string {
  const more = listed + omitted - 1
  if (more < 1) return ''
  if (omitted === 0) return ` ${count(more, 'more error')} ${more === 1 ? 'is' : 'are'} listed.`
  const found = more < countedMax - 1 ? count(more, 'more error') : `At least ${count(more, 'more error')}`
  return ` ${found}; the first ${listed} are listed.`
}
