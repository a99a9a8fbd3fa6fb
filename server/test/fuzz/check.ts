// Checks that hold for every response to any request: documented status, type and shape; refusals that say why and
// where; no accepted request that the document forbids; and no server error at all.
import { ERRORS, type ErrorCode } from '@carillon/contract/errors.ts'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { foldWords, wordTreeOf } from '../../src/api/http/words.ts'
import { type ReadOptions, readOtherSpellings } from '../../src/api/jobs/other-spellings.ts'
import { epochMs } from '../../src/lib/time/epoch.ts'
import { escapePointer, type OpenApiDocument, type Operation } from './document.ts'
import { isObject } from './garbage.ts'
import type { FuzzRequest } from './requests.ts'

export interface FuzzAnswer {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: Buffer
}

/** Codes with which a 400 or 422 may have no field to name; TIER_LIMIT has none where a tier lacks a whole feature. */
const codesWithoutField: readonly string[] = ['MALFORMED_REQUEST', 'MALFORMED_JSON', 'TIER_LIMIT']

/** Responses with content that the document leaves open, and why. */
const openContent: Readonly<Record<string, string>> = {
  'GET /metrics': 'the text format of Prometheus; the document names no content',
}

/** Operations that read other spellings: a body that they take must be one that the document allows once it is rewritten. */
const jobOperations: Readonly<Record<string, ReadOptions['as']>> = {
  'POST /api/v1/jobs': 'create',
  'PUT /api/v1/jobs/by-key/{key}': 'replace',
  'PATCH /api/v1/jobs/{job_id}': 'patch',
}
const problemType = 'application/problem+json'

export class Checker {
  readonly #ajv = new Ajv2020({ strict: false, validateSchema: false })
  readonly #compiled = new Map<string, ValidateFunction>()

  constructor(document: OpenApiDocument) {
    addFormats.default(this.#ajv)
    this.#ajv.addSchema(document, 'document')
  }

  /** Everything wrong with the response, in sentences; empty: nothing. */
  check(request: FuzzRequest, answer: FuzzAnswer): string[] {
    const { operation } = request
    if (operation === null) return checkStray(request, answer)
    // The target to try jobs on answers with the status that it is asked for, failures too.
    if (isEchoed(request, answer)) return []
    if (answer.status >= 500) return checkFailure(answer)
    const found = findResponse(operation, answer.status)
    if (found === null) return [`the document lists no status ${answer.status} for ${operation.name}`]
    return [
      ...this.#checkContent(operation, found, answer),
      ...(answer.status >= 400 ? checkProblem(request, answer) : this.#checkTaken(request)),
      ...checkHeaders(operation, answer),
    ]
  }

  #checkContent(operation: Operation, response: string, answer: FuzzAnswer): string[] {
    if (operation.name in openContent) return []
    const content = operation.responses[response]!.content ?? {}
    const type = mediaTypeOf(answer)
    const types = Object.keys(content)
    if (types.length === 0) {
      return answer.body.length === 0 ? [] : [`a body of ${type}, where the document has none`]
    }
    if (!types.includes(type)) return [`content type ${type}; the document says ${types.join(' or ')}`]
    if (!/json$/.test(type)) return []
    const value = readJson(answer.body)
    if (value === undefined) return ['the body is not JSON']
    const pointer = `${operation.pointer}/responses/${response}/content/${escapePointer(type)}/schema`
    return this.#validate(pointer, value).map((one) => `the body breaks the documented shape: ${one}`)
  }

  /** An accepted request must be one that the document allows, or one of the two is wrong. */
  #checkTaken({ operation, headers, body }: FuzzRequest): string[] {
    const type = String(headers['content-type'] ?? '').split(';')[0]!
    const documented = operation?.body ?? null
    if (documented === null) return []
    if (body === null || body.length === 0) return this.#checkNoBody(operation!)
    if (!(type in documented.content) || !/json$/.test(type)) return []
    const value = readJson(body)
    if (value === undefined) return ['a body was taken that is not JSON']
    const pointer = `${operation!.pointer}/requestBody/content/${escapePointer(type)}/schema`
    const meant = meantBy(operation!, value, documented.content[type]!.schema ?? {})
    return this.#validate(pointer, meant).map((one) => `a body was taken that the document forbids: ${one}`)
  }

  /**
   * A missing body may mean the same as an empty object, as for a trigger; the document generator calls every body
   * required.
   */
  #checkNoBody({ name, pointer, body }: Operation): string[] {
    const type = Object.keys(body!.content)[0]!
    const wrong = this.#validate(`${pointer}/requestBody/content/${escapePointer(type)}/schema`, {})
    return wrong.map((one) => `${name} was taken without a body, though {} would not do: ${one}`)
  }

  #validate(pointer: string, value: unknown): string[] {
    let validate = this.#compiled.get(pointer)
    if (validate === undefined) {
      // A reference is a URI: characters that a URI may not contain must be encoded in it.
      validate = this.#ajv.compile({ $ref: `document#${encodeURI(pointer)}` })
      this.#compiled.set(pointer, validate)
    }
    if (validate(value)) return []
    return [this.#ajv.errorsText(validate.errors, { dataVar: '' })]
  }
}

function meantBy({ name }: Operation, value: unknown, schema: object): unknown {
  const as = jobOperations[name]
  if (as !== undefined) return readOtherSpellings(value, { as, now: epochMs(0) })?.body ?? value
  // Every route reads the words of closed sets in any case: api/http/words.test.ts.
  return foldWords(wordTreeOf(schema), value)
}

function checkFailure(answer: FuzzAnswer): string[] {
  if (answer.status !== 503) return [`status ${answer.status}: nothing that a client sends may cause it`]
  return answer.headers['retry-after'] === undefined ? ['a 503 without Retry-After'] : []
}

/** Any problem document will do, or an answer without a body, as to HEAD. */
function checkStray(request: FuzzRequest, answer: FuzzAnswer): string[] {
  if (answer.status >= 500) return checkFailure(answer)
  return answer.status >= 400 ? checkProblem(request, answer) : []
}

function checkProblem(request: FuzzRequest, answer: FuzzAnswer): string[] {
  if (mediaTypeOf(answer) !== problemType) return [`a refusal of type ${mediaTypeOf(answer)}`]
  const problem = readJson(answer.body)
  if (!isObject(problem)) return ['a refusal that is no JSON object']
  const code = String(problem['code'])
  if (!Object.hasOwn(ERRORS, code)) return [`the code ${code} is not in the registry`]
  const { status } = ERRORS[code as ErrorCode]
  if (status !== answer.status || problem['status'] !== status) {
    return [`${code} belongs to ${status}, not to ${answer.status} with ${problem['status']} in the body`]
  }
  if (status !== 400 && status !== 422) return []
  const pointer = (problem['errors'] as { pointer?: unknown }[] | undefined)?.[0]?.pointer
  if (pointer === undefined && codesWithoutField.includes(code)) return []
  if (typeof pointer !== 'string') return [`${code} without errors[0].pointer`]
  return names(request, pointer)
    ? []
    : [`${code} points to ${JSON.stringify(pointer)}, which is no field of it`]
}

/** Whether the pointer leads to something that was sent, or that is missing in something that was sent. */
function names(request: FuzzRequest, pointer: string): boolean {
  const { operation, headers, body, path } = request
  const value = body === null || body.length === 0 ? undefined : readJson(body)
  // The whole body, or its absence; or a parameter with an empty name.
  if (pointer === '') return operation?.body !== null || decodeQuery(path).includes('')
  // A change of the target is refused for the stored values that it leaves out: each must be sent again.
  const isStored = request.method === 'PATCH' && /^\/execution\/(headers|env)\/[^/]+$/.test(pointer)
  if (isStored) return typeof value === 'object' && value !== null
  if (pointer.startsWith('/')) {
    const keys = pointer
      .slice(1)
      .split('/')
      .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
    let at: unknown = value
    for (const key of keys.slice(0, -1)) {
      if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return false
      at = (at as Record<string, unknown>)[key]
    }
    return typeof at === 'object' && at !== null
  }
  // Of a path beside the document nobody here knows the parameters.
  if (operation === null) return true
  const name = pointer.split('/')[0]!
  const documented = operation.parameters.some((one) => one.name.toLowerCase() === name.toLowerCase())
  return documented || name.toLowerCase() in headers || decodeQuery(path).includes(name)
}

function checkHeaders(operation: Operation, { status, headers }: FuzzAnswer): string[] {
  const wrong: string[] = []
  if (headers['x-content-type-options'] !== 'nosniff') wrong.push('x-content-type-options is not nosniff')
  if (operation.secured && !/no-store/.test(String(headers['cache-control'])) && status < 400) {
    wrong.push('an answer to a key may be kept by caches: no cache-control: no-store')
  }
  if (status === 401 && headers['www-authenticate'] === undefined)
    wrong.push('a 401 without WWW-Authenticate')
  if (status === 429 && headers['retry-after'] === undefined) wrong.push('a 429 without Retry-After')
  return wrong
}

/** The key in `responses`: the status itself or its range. */
function findResponse({ responses }: Operation, status: number): string | null {
  const range = new RegExp(`^${String(status)[0]}xx$`, 'i')
  return (
    Object.keys(responses).find((key) => key === String(status)) ??
    Object.keys(responses).find((key) => range.test(key)) ??
    null
  )
}

/** /echo answers with the status that it is asked for. */
export function isEchoed({ operation, path }: FuzzRequest, { status, headers }: FuzzAnswer): boolean {
  if (operation?.path !== '/echo') return false
  const asked = new RegExp(`[?&]status=${status}(&|$)`).test(path)
  return asked && /^application\/json/.test(String(headers['content-type'] ?? 'application/json'))
}

function mediaTypeOf({ headers }: FuzzAnswer): string {
  return String(headers['content-type'] ?? 'none')
    .split(';')[0]!
    .trim()
}

function decodeQuery(path: string): string[] {
  return [...new URLSearchParams(path.split('?').slice(1).join('?')).keys()]
}

function readJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString())
  } catch {
    return undefined
  }
}
