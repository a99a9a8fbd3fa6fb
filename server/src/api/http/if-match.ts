// Conditional requests: a change that names the version it was made for is refused when the job has moved on, so that
// no change of somebody else is lost unseen. RFC 9110, section 13.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from './api-error.ts'
import { refuseField } from './problem.ts'

/** '*': any version. A list: one of these tags. Null: nothing was asked. */
export type Precondition = '*' | readonly string[] | null

const headerLengthMax = 1_024
// One tag and the comma or end after it. No repetition within a repetition: linear on any text.
const nextTag = /[\t ]*((?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")[\t ]*(,|$)/y

export function tagOf(version: number): string {
  return `"${version}"`
}

export function readIfMatch({ headers }: FastifyRequest): Precondition {
  const text = headers['if-match']
  if (text === undefined) return null
  const tags = readTags(text)
  if (tags === null) throw refuseField('If-Match', 'must be * or a list of ETags such as "3"')
  return tags
}

/** The only form that creating knows: there is no such job yet. */
export function readIfNoneMatch({ headers }: FastifyRequest): '*' | null {
  const text = headers['if-none-match']
  if (text === undefined) return null
  if (text.trim() !== '*') throw refuseField('If-None-Match', 'must be *')
  return '*'
}

/** A hook for resources that must not be changed blindly. Before validation, so that the answer is 428 and not 400. */
export async function requireIfMatch({ headers }: FastifyRequest): Promise<void> {
  if (headers['if-match'] !== undefined) return
  const errors = [{ pointer: 'If-Match', detail: 'is required' }]
  throw new ApiError('IF_MATCH_REQUIRED', 'The If-Match header is missing.', errors)
}

/** A weak tag never matches here: it does not say that the job is the same in all its parts. */
export function checkVersion(
  precondition: Precondition,
  { jobId, version }: { jobId: string; version: number },
): void {
  if (precondition === null || precondition === '*' || precondition.includes(tagOf(version))) return
  const detail = `The job ${jobId} is at version ${version}.`
  throw new ApiError('VERSION_STALE', detail, [
    { pointer: 'If-Match', detail: `does not name ${tagOf(version)}` },
  ])
}

export function tagVersion(reply: FastifyReply, version: number): FastifyReply {
  return reply.header('etag', tagOf(version))
}

function readTags(text: string): Precondition {
  if (text.trim() === '*') return '*'
  if (text.length > headerLengthMax) return null
  const tags: string[] = []
  nextTag.lastIndex = 0
  for (let found = nextTag.exec(text); found !== null; found = nextTag.exec(text)) {
    tags.push(found[1]!)
    if (found[2] === '') return tags
  }
  return null
}

const ifMatch = {
  type: 'string',
  description:
    'The ETag of the version that you read, several ETags, or `*`. If the job has another version, the request is refused with 412.',
}

export const ifMatchHeader = { type: 'object', properties: { 'If-Match': ifMatch } }
export const ifMatchRequired = { ...ifMatchHeader, required: ['If-Match'] }
export const putHeaders = {
  type: 'object',
  properties: {
    'If-Match': ifMatch,
    'If-None-Match': { type: 'string', description: '`*`: only if there is no such job yet.' },
  },
}
