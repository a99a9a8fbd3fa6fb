// A request for an operation of the document: most of them good, so that there is something to find; the others
// with one part spoiled, or several.
import { gzipSync } from 'node:zlib'
import { defaultTenantId } from '../../src/domain/tenants/tenant.ts'
import type { Dice } from './dice.ts'
import {
  examplesOf,
  type MediaType,
  type OpenApiDocument,
  type Operation,
  type Parameter,
} from './document.ts'
import { isObject, oddBody, oddTexts } from './garbage.ts'
import { type Generated, generate } from './generate.ts'
import { type Hints, targetsOf } from './hints.ts'
import type { Known } from './known.ts'
import { mutate, sitesOf } from './mutate.ts'
import { oddContentTypes, oddHeader, oddKey, oddParameter } from './odd-parts.ts'

export interface FuzzRequest {
  /** Null: nothing that the document knows. */
  operation: Operation | null
  method: string
  /** With the query string. */
  path: string
  headers: Record<string, string | string[]>
  body: Buffer | null
  /** The path parameters before they were encoded. */
  parameters: Record<string, string>
  /** Deliberate errors in the request. */
  spoiled: readonly string[]
}

export interface RequestDeps {
  document: OpenApiDocument
  dice: Dice
  known: Known
  hints: Hints
  /** Of the API. */
  origin: string
  /** The key that may do everything. */
  key: string
  /** The token of the first attempt of an execution. */
  tokenOf: (executionId: string) => string
}

type Part = 'path' | 'query' | 'header' | 'key' | 'body' | 'bytes'

/** Of all requests: with a key of fewer rights, or for another tenant. */
const otherCallerShare = 0.04
const idempotencyKeys = 200
const goodShare = 0.62
const oneSpoiledShare = 0.3
const exampleShare = 0.55
const querySharePerParameter = 0.3
/**
 * Shares of attempt reports about a claimed execution: lower for reports that end it, or no attempt would be left to
 * report on.
 */
const claimedShare = { ending: 0.3, other: 0.95 }
const bundle = gzipSync(Buffer.alloc(1_024))

export function makeRequest(deps: RequestDeps, operation: Operation): FuzzRequest {
  const parts = chooseSpoiled(deps.dice, operation)
  const spoiled: string[] = []
  const { path, parameters } = makePath(deps, operation, parts.includes('path') ? spoiled : null)
  const query = makeQuery(deps, operation, parts.includes('query') ? spoiled : null)
  const headers: FuzzRequest['headers'] = {}
  const body = makeBody(deps, operation, { parts, spoiled, headers })
  if (operation.secured) headers['authorization'] = `Bearer ${deps.key}`
  if (operation.tokened) headers['x-carillon-token'] = deps.tokenOf(parameters['execution_id'] ?? '')
  addConditions(deps, { operation, path, headers })
  if (operation.secured && deps.dice.chance(otherCallerShare))
    spoiled.push(callAsOther(deps, operation, headers))
  if (parts.includes('key')) spoiled.push(oddKey(deps.dice, headers))
  if (parts.includes('header')) spoiled.push(oddHeader(deps.dice, headers))
  return { operation, method: operation.method, path: `${path}${query}`, headers, body, parameters, spoiled }
}

/** A verb that a path does not have, or a path that is not there. */
export function makeStray({ dice, key }: RequestDeps, operations: readonly Operation[]): FuzzRequest {
  const { path } = dice.pick(operations)
  const known = dice.chance(0.6)
  const url = known
    ? path.replace(/\{[^}]+\}/g, () => dice.uuid())
    : `${path.slice(0, dice.between(1, path.length))}${encodeURIComponent(dice.pick(oddTexts))}`
  const method = dice.pick(['PUT', 'PATCH', 'DELETE', 'POST', 'OPTIONS', 'GET'])
  const headers = { authorization: `Bearer ${key}` }
  return {
    operation: null,
    method,
    path: encodeBraces(url),
    headers,
    body: null,
    parameters: {},
    spoiled: ['stray'],
  }
}

function chooseSpoiled(dice: Dice, operation: Operation): Part[] {
  if (dice.chance(goodShare)) return []
  const parts: Part[] = ['query', 'header']
  if (operation.parameters.some((one) => one.in === 'path')) parts.push('path', 'path')
  if (operation.secured) parts.push('key')
  if (operation.body !== null) parts.push('body', 'body', 'body', 'body', 'bytes')
  const count = dice.chance(oneSpoiledShare / (1 - goodShare)) ? 1 : dice.between(2, 4)
  return Array.from({ length: count }, () => dice.pick(parts))
}

/** `spoiled`: the list to which spoiled parts are added; null: nothing is spoiled. */
function makePath(deps: RequestDeps, operation: Operation, spoiled: string[] | null) {
  const parameters: Record<string, string> = {}
  const path = operation.path.replace(/\{([^}]+)\}/g, (_all, name: string) => {
    if (spoiled !== null) {
      const odd = oddParameter(deps.dice)
      spoiled.push(`${name} in the path`)
      return odd
    }
    const given = operation.parameters.find((one) => one.in === 'path' && one.name === name)
    const made = String(makeValue(deps, operation, given ?? { in: 'path', name, schema: { type: 'string' } }))
    const value = isOwnTenant(operation, made) ? deps.dice.uuid() : made
    parameters[name] = value
    return encodeURIComponent(value.toWellFormed())
  })
  return { path, parameters }
}

/** On another tier the fuzz itself would be refused much from then on, dead letters for one. */
function isOwnTenant({ name }: Operation, tenantId: string): boolean {
  return name === 'PATCH /api/v1/tenants/{tenant_id}' && tenantId === defaultTenantId
}

function makeValue(deps: RequestDeps, operation: Operation, parameter: Parameter) {
  const { name, schema } = parameter
  const { document, dice, known } = deps
  const suggest = suggestFor(deps, operation)
  // The holder of a token reports on an attempt in progress: one that a worker has claimed.
  const share = operation.path.endsWith('/complete') ? claimedShare.ending : claimedShare.other
  if (operation.tokened && dice.chance(share)) {
    const claimed = known.latest('workers execution_id', dice)
    if (claimed !== undefined) return claimed
  }
  // Of an id that nothing is known of yet, one that does not exist.
  if (/_id$|^id$/.test(name)) return suggest(name) ?? dice.uuid()
  if (name === 'cursor') return suggest(name)
  return generate({ document, dice }, schema, { name, suggest }).root.value
}

function makeQuery(deps: RequestDeps, operation: Operation, spoiled: string[] | null): string {
  const { dice } = deps
  const documented = operation.parameters.filter((one) => one.in === 'query')
  const pairs = documented
    .filter(({ required }) => required === true || dice.chance(querySharePerParameter))
    .flatMap((one) => [makeValue(deps, operation, one)].flat().map((value) => [one.name, value] as const))
    .filter(([, value]) => value !== undefined)
  const texts = pairs.map(([name, value]) => `${name}=${encodeURIComponent(String(value).toWellFormed())}`)
  if (spoiled !== null) {
    const name = documented.length > 0 && dice.chance(0.8) ? dice.pick(documented).name : 'unknown'
    const odd = dice.pick([
      `${name}=${oddParameter(dice)}`,
      `${name}=a&${name}=b`,
      `${name}[]=1`,
      `${name}[a]=1`,
      `${name}`,
      `__proto__=1&constructor=2`,
      `dry_run=${dice.pick(['true', 'false', '1', ''])}`,
      '&&==&',
    ])
    spoiled.push(`query ${odd.slice(0, 40)}`)
    texts.push(odd)
  }
  return texts.length === 0 ? '' : `?${texts.join('&')}`
}

interface BodyContext {
  parts: readonly Part[]
  spoiled: string[]
  headers: FuzzRequest['headers']
}

function makeBody(
  deps: RequestDeps,
  operation: Operation,
  { parts, spoiled, headers }: BodyContext,
): Buffer | null {
  const { dice } = deps
  if (operation.body === null) return null
  const [type, media] = dice.pick(Object.entries(operation.body.content))
  headers['content-type'] = type
  if (!operation.body.required && dice.chance(0.2)) {
    delete headers['content-type']
    return null
  }
  // Something that looks like a bundle, so that most are taken.
  if (!/json/.test(type)) return dice.chance(0.8) ? bundle : Buffer.from(dice.pick(oddTexts))
  const text = makeJson(deps, operation, media, parts.includes('body') ? spoiled : null)
  if (!parts.includes('bytes')) return Buffer.from(text)
  if (dice.chance(0.3)) {
    headers['content-type'] = dice.pick(oddContentTypes)
    spoiled.push(`content type ${headers['content-type']}`)
    return Buffer.from(text)
  }
  spoiled.push('bytes')
  return dice.chance(0.1) ? null : oddBody(dice, text)
}

function makeJson(
  deps: RequestDeps,
  operation: Operation,
  media: MediaType,
  spoiled: string[] | null,
): string {
  const { document, dice } = deps
  const examples = examplesOf(media)
  const { root, sites } =
    examples.length > 0 && dice.chance(exampleShare)
      ? takeExample(deps, operation, dice.pick(examples))
      : generate({ document, dice }, media.schema ?? {}, { suggest: suggestFor(deps, operation) })
  if (spoiled !== null) spoiled.push(mutate(sites, dice))
  return JSON.stringify(root.value) ?? ''
}

/** The example, about things that are there, and calling nobody outside. */
function takeExample(deps: RequestDeps, operation: Operation, example: unknown): Generated {
  const { known, dice, origin } = deps
  const adapt = (value: unknown, name: string): unknown => {
    if (Array.isArray(value)) return value.map((item) => adapt(item, name.replace(/s$/, '')))
    if (isObject(value))
      return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, adapt(child, key)]))
    if (typeof value !== 'string') return value
    if (/^https?:/.test(value)) return dice.pick(targetsOf(origin))
    // The same name a hundred times would mostly be refused where names are unique.
    if (name === 'name' || name === 'key') return dice.chance(0.8) ? `${value}-${dice.below(1e6)}` : value
    return /_id$/.test(name) ? (known.find(operation, name, dice) ?? value) : value
  }
  const root = { value: adapt(example, '') }
  return { root, sites: sitesOf(root, 'value') }
}

function suggestFor({ known, dice, hints }: RequestDeps, operation: Operation): (name: string) => unknown {
  return (name) => {
    if ((name === 'name' || name === 'key') && dice.chance(0.6)) return `fuzz-${dice.below(1e6)}`
    const hint = Object.hasOwn(hints, name) ? dice.pick(hints[name]!) : undefined
    return known.find(operation, name, dice) ?? hint
  }
}

/** With a key that was made on the way, or as the operator for a tenant that was. */
function callAsOther(
  { known, dice }: RequestDeps,
  operation: Operation,
  headers: FuzzRequest['headers'],
): string {
  const [key, tenant] = [known.latest('api-keys key', dice), known.find(operation, 'tenant_id', dice)]
  if (key !== undefined && dice.chance(0.5)) headers['authorization'] = `Bearer ${key}`
  else if (tenant !== undefined) headers['x-tenant-id'] = tenant
  return 'another caller'
}

/** The headers that a careful client sends with a write. */
function addConditions(
  { document, dice, known }: RequestDeps,
  { operation, path, headers }: { operation: Operation; path: string; headers: FuzzRequest['headers'] },
): void {
  const documented = operation.parameters.filter((one) => one.in === 'header')
  for (const { name, required, schema } of documented) {
    if (/^if-(none-)?match$/i.test(name) || !(required === true || dice.chance(0.2))) continue
    if (/idempotency-key$/i.test(name)) {
      // Few keys, so that some come twice; never two of them in one request.
      headers['idempotency-key'] = `key-${dice.below(idempotencyKeys)}`
      continue
    }
    headers[name.toLowerCase()] = String(generate({ document, dice }, schema, { name }).root.value)
      .replace(/[^\x20-\x7e]/g, '')
      .trim()
  }
  const condition = documented.find(({ name }) => /^if-match$/i.test(name))
  // Where nothing exists yet, even `*` is refused: an optional header is mostly not sent.
  if (condition === undefined || (condition.required !== true && dice.chance(0.6))) return
  headers['if-match'] = (dice.chance(0.5) ? known.versionOf(path) : undefined) ?? '*'
}

function encodeBraces(path: string): string {
  return path.replaceAll('{', '%7B').replaceAll('}', '%7D')
}
