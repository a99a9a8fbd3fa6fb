// A request as it goes over an HTTP/1.1 connection.
import type { HttpRequest } from '../../ports/http.ts'
import { fieldsOfConnection, fieldValue, token } from './fields.ts'

export class InvalidRequest extends Error {}

const requestTarget = /^\/[\x21-\x7e]*$/
/** A body of none is said to be empty: some servers wait for one otherwise. */
const methodsWithBody: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH'])
/** Names that were found valid: callers use the same ones again and again. */
const namesMax = 10_000
const names = new Set<string>()

export interface RequestText {
  /** One character a byte. */
  head: string
  body: Uint8Array | null
}

/** Throws an InvalidRequest: nothing of it is sent then. `host`: as the target is to read it. */
export function writeRequest(
  { method, headers, body }: Pick<HttpRequest, 'method' | 'headers' | 'body'>,
  host: string,
  path: string,
): RequestText {
  if (!token.test(method)) throw new InvalidRequest('the method is not valid')
  if (!requestTarget.test(path)) throw new InvalidRequest('the path is not valid')
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`
  for (const name in headers) {
    const value = headers[name]!
    if (!names.has(name)) checkName(name)
    if (!fieldValue.test(value))
      throw new InvalidRequest(`the header ${name} has a character that it cannot have`)
    head += `${name}: ${value}\r\n`
  }
  if (body === undefined)
    return { head: `${head}${methodsWithBody.has(method) ? emptyBody : '\r\n'}`, body: null }
  if (typeof body !== 'string') return { head: `${head}content-length: ${body.length}\r\n\r\n`, body }
  const bytes = Buffer.byteLength(body)
  const whole = `${head}content-length: ${bytes}\r\n\r\n`
  // In one piece where a character is a byte: two pieces are two buffers and a gathering write.
  return bytes === body.length ? { head: whole + body, body: null } : { head: whole, body: Buffer.from(body) }
}

const emptyBody = 'content-length: 0\r\n\r\n'

function checkName(name: string): void {
  if (!token.test(name)) throw new InvalidRequest(`${JSON.stringify(name)} is not a valid header name`)
  if (fieldsOfConnection.has(name.toLowerCase()))
    throw new InvalidRequest(`the header ${name} belongs to the connection and cannot be set`)
  if (names.size >= namesMax) names.clear()
  names.add(name)
}
