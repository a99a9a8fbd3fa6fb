// Every answer that is not a success is a problem document, whichever door it leaves by: an error in a handler,
// a path nobody serves, a URL Fastify cannot read, bytes Node cannot read.
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { ERRORS, type ErrorCode } from '@carillon/contract/errors.ts'
import type { Problem } from '@carillon/contract/problem.ts'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { Unavailable } from '../../lib/unavailable.ts'
import { requestFailed } from '../../telemetry/events.ts'
import { ApiError } from './api-error.ts'
import { listedMax, SchemaRefusal } from './findings.ts'
import { moreText, refuseRequest, sentenceOf } from './invalid-request.ts'

const contentType = 'application/problem+json; charset=utf-8'
const unavailableS = 1

export function sendProblem(error: Error, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const refusal = toApiError(error, request)
  const { status } = ERRORS[refusal.code]
  if (status === 500) requestFailed.emit({ method: request.method, url: request.url, error })
  if (status === 401) reply.header('www-authenticate', 'Bearer realm="carillon"')
  const retryAfterS = refusal.retryAfterSeconds ?? (status === 503 ? unavailableS : null)
  if (retryAfterS !== null) reply.header('retry-after', String(retryAfterS))
  return (
    reply
      .code(status)
      .header('content-type', contentType)
      // Also before a route is found, where the hook that adds it to all answers does not run.
      .header('x-content-type-options', 'nosniff')
      .serializer(JSON.stringify)
      .send(problemOf(refusal))
  )
}

export function sendNotFound(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const path = pathOf(request).slice(0, 200)
  return sendProblem(
    new ApiError('ROUTE_NOT_FOUND', `There is no route for ${request.method} ${path}.`),
    request,
    reply,
  )
}

export function pathOf({ url }: FastifyRequest): string {
  return url.split('?', 1)[0]!
}

/**
 * A body that would be ignored is refused: a client that sends `{"dry_run":true}` with a DELETE means something by it.
 */
export async function refuseDeleteBody({ method, body }: FastifyRequest): Promise<void> {
  if (method !== 'DELETE' || body === undefined) return
  throw refuseField('', 'must be absent: DELETE takes none')
}

/** Input that Node's HTTP parser refuses never becomes a request; the answer is written by hand. */
export function refuseConnection(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  endWithProblem(socket, parserRefusal(error.code ?? ''))
}

/** CONNECT asks for a tunnel, which we are not. */
export function refuseTunnel(_request: unknown, socket: Duplex): void {
  endWithProblem(socket, new ApiError('MALFORMED_REQUEST', 'CONNECT is not supported.'))
}

export function refuseExpectation(_request: unknown, response: ServerResponse): void {
  const refusal = new ApiError(
    'MALFORMED_REQUEST',
    'The only supported value of the Expect header is 100-continue.',
  )
  const body = JSON.stringify(problemOf(refusal))
  const headers = {
    'content-type': contentType,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  }
  response.writeHead(ERRORS[refusal.code].status, headers).end(body)
}

function endWithProblem(socket: Duplex, refusal: ApiError): void {
  const body = JSON.stringify(problemOf(refusal))
  const { status, title } = ERRORS[refusal.code]
  socket.end(
    `HTTP/1.1 ${status} ${title}\r\ncontent-type: ${contentType}\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  )
}

function parserRefusal(code: string): ApiError {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new ApiError('HEADERS_TOO_LARGE', 'The headers are longer than 16 KiB.')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new ApiError('REQUEST_TIMEOUT', 'The request was not complete in time.')
  return new ApiError('MALFORMED_REQUEST', 'This is not an HTTP/1.1 request.')
}

function problemOf({ code, message, errors, errorsOmitted, executionStatus }: ApiError): Problem {
  const { status, title, help } = ERRORS[code]
  const listed = errors.slice(0, listedMax)
  const omitted = errorsOmitted + errors.length - listed.length
  const detail = message + moreText(listed.length, omitted)
  const problem: Problem = { type: `urn:carillon:error:${code}`, title, status, code, detail, help }
  if (listed.length > 0) problem.errors = listed
  if (omitted > 0) problem.errors_omitted = omitted
  if (executionStatus !== null) problem.execution_status = executionStatus
  return problem
}

/** Codes of Fastify that mean a client error. Any error that is neither listed here nor one of our own is our bug. */
const fastifyCodes: Record<string, ErrorCode> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'BODY_TOO_LARGE',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'UNSUPPORTED_MEDIA_TYPE',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'MALFORMED_REQUEST',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'MALFORMED_JSON',
  FST_ERR_BAD_URL: 'MALFORMED_REQUEST',
  FST_ERR_MAX_PARAM_LENGTH: 'URL_TOO_LONG',
}

function toApiError(error: Error, request: FastifyRequest): ApiError {
  if (error instanceof ApiError) return error
  if (error instanceof Unavailable) return new ApiError('UNAVAILABLE', `${capitalised(error.message)}.`)
  if (error instanceof SchemaRefusal) return refuseRequest(request, error)
  const { code } = error as FastifyError
  const known = fastifyCodes[code]
  if (known !== undefined) return new ApiError(known, error.message)
  const { statusCode = 500 } = error as FastifyError
  if (/^FST_ERR_/.test(code ?? '') && statusCode < 500)
    return new ApiError('MALFORMED_REQUEST', error.message)
  if (code === 'ECONNRESET')
    return new ApiError('MALFORMED_REQUEST', 'The request ended before its body did.')
  return new ApiError(
    'INTERNAL_ERROR',
    'An unexpected error. For safety, the details are only in the log of the server.',
  )
}

/** One field that a schema cannot judge; the empty pointer is the body. */
export function refuseField(pointer: string, detail: string, code: ErrorCode = 'INVALID_REQUEST'): ApiError {
  return new ApiError(code, sentenceOf({ pointer, detail }), [{ pointer, detail }])
}

export function escapePointer(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1')
}

function capitalised(text: string): string {
  return text[0]!.toUpperCase() + text.slice(1)
}
