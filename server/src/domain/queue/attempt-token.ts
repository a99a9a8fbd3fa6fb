// The token of an attempt: its holder may report the progress and the end of the attempt, and nothing else. It is
// derived, not stored, so that it is valid from the moment the call is sent, wherever the execution is just then. It
// names the tenant, because an execution that has ended is found by its tenant, and the fence, because an execution
// that was handed back while it ran is called again as the same attempt.
import { timingSafeEqual } from 'node:crypto'
import type { HmacSha256 } from '../../lib/hmac.ts'

export interface AttemptOfTenant {
  tenantId: string
  executionId: string
  attempt: number
  /** Of the claim that it was called under. */
  fence: number
}

/** Of base64url: 18 bytes. */
const macLength = 24
const form = /^([1-9]\d{0,4})\.([1-9]\d{0,9})\.([0-9a-f]{32})\.([\w-]{24})$/

export function attemptTokenOf(key: HmacSha256, one: AttemptOfTenant): string {
  const tenant = one.tenantId.replaceAll('-', '')
  return `${one.attempt}.${one.fence}.${tenant}.${macOf(key, one)}`
}

/** Null: it is not a token of this execution. */
export function readAttemptToken(
  key: HmacSha256,
  executionId: string,
  token: string,
): AttemptOfTenant | null {
  const match = form.exec(token)
  if (match === null) return null
  const attempt = Number(match[1])
  const fence = Number(match[2])
  const tenantId = match[3]!.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
  const one = { tenantId, executionId, attempt, fence }
  return timingSafeEqual(Buffer.from(match[4]!), Buffer.from(macOf(key, one))) ? one : null
}

function macOf(key: HmacSha256, { tenantId, executionId, attempt, fence }: AttemptOfTenant): string {
  return key.base64url(`${executionId}:${attempt}:${fence}:${tenantId}`).slice(0, macLength)
}
