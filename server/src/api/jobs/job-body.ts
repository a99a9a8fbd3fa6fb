// The body of a request that carries a job: other spellings are rewritten before validation, and mistakes are told in
// the spelling of the sender.
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { isObject } from '../../lib/is-object.ts'
import type { Clock } from '../../ports/clock.ts'
import { ApiError } from '../http/api-error.ts'
import { SchemaRefusal } from '../http/findings.ts'
import { refuseRequest } from '../http/invalid-request.ts'
import { refuseJobOptions } from '../http/not-supported.ts'
import { sendProblem } from '../http/problem.ts'
import {
  CONFIG_FIELDS,
  JOB_PARTS,
  type JobReading,
  OTHER_FIELDS,
  type ReadOptions,
  readOtherSpellings,
} from './other-spellings.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set when the body was rewritten. */
    reading?: JobReading
  }
}

const otherNames = [
  ...Object.entries(OTHER_FIELDS).map(([name, { to }]) => `\`${name}\` (\`${to.join('.')}\`)`),
  `\`executor_config\` (fields of \`execution\`; ${Object.keys(CONFIG_FIELDS).join(', ')})`,
]

/** For the descriptions of routes. */
export const spellingsText = `Words such as \`exponential\` are read in any case, and some fields may have another name or stand outside their part: ${otherNames.join(', ')}. Two spellings of one field must agree. The response always has the form described here.`

type Hook = (request: FastifyRequest) => Promise<void>

/** The hooks of a route that takes a job; `before` go first. */
export function takeJob(clock: Clock, as: ReadOptions['as'], before: readonly Hook[] = []) {
  const rewriteBody = async (request: FastifyRequest): Promise<void> => {
    const reading = readOtherSpellings(request.body, { as, now: clock.databaseNow() })
    if (reading === null) return
    request.reading = reading
    request.bodyAsSent = request.body
    request.body = reading.body
  }
  return { preValidation: [...before, rewriteBody, refuseJobOptions], errorHandler: sendInGivenWords }
}

/** The warnings of a write, with the ones about the spelling of its request. */
export function withReadingWarnings(
  reading: JobReading | undefined,
  { warnings = [] }: { warnings?: string[] },
): { warnings?: string[] } {
  const all = [...(reading?.warnings ?? []), ...warnings]
  return all.length === 0 ? {} : { warnings: all }
}

function sendInGivenWords(error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { reading, bodyAsSent } = request
  const refusal = error instanceof SchemaRefusal ? refuseRequest(request, error) : error
  const isRewritten = reading !== undefined && refusal instanceof ApiError
  const told = isRewritten ? inGivenWords(refusal, (at) => placeOf(at, reading, bodyAsSent)) : refusal
  return sendProblem(told, request, reply)
}

/** `toPlace`: from a pointer into the rewritten body to the place in the request. */
function inGivenWords(refusal: ApiError, toPlace: (pointer: string) => string): ApiError {
  const { code, message, retryAfterSeconds, executionStatus, errorsOmitted } = refusal
  const errors = refusal.errors.map((one) => ({ ...one, pointer: toPlace(one.pointer) }))
  const before = refusal.errors[0]?.pointer
  const isNamed = before !== undefined && before !== '' && message.startsWith(before)
  const detail = isNamed ? errors[0]!.pointer + message.slice(before.length) : message
  return new ApiError(code, detail, errors, { retryAfterSeconds, executionStatus, errorsOmitted })
}

function placeOf(pointer: string, { places }: JobReading, sent: unknown): string {
  for (let end = pointer.length; end > 0; end = pointer.lastIndexOf('/', end - 1)) {
    const place = places.get(pointer.slice(0, end))
    if (place !== undefined) return place + pointer.slice(end)
  }
  const [, part = '', name] = pointer.split('/')
  const isPart = (JOB_PARTS as readonly string[]).includes(part)
  if (name === undefined || !isPart || !isObject(sent) || isObject(sent[part])) return pointer
  // A part that was not sent, or as a text: the field that is missing may be given beside it.
  const known = Object.hasOwn(OTHER_FIELDS, name) ? OTHER_FIELDS[name]! : null
  const isFlat = sent[part] === undefined && known?.to.join('/') === `${part}/${name}`
  return isFlat ? `/${name}` : `/${part}`
}
