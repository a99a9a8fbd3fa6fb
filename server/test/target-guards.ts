// Guards of targets and questions to them, for tests.
import assert from 'node:assert/strict'
import type { LookupAddress } from 'node:dns'
import {
  createTargetGuard,
  type PrivateTargets,
  type ResolveName,
  type TargetGuard,
} from '../src/lib/http/target-guard.ts'

/** The tenant `default` is the operator's own. */
export const createGuard = (privateTargets: PrivateTargets, resolveName: ResolveName) =>
  createTargetGuard({ privateTargets, resolveName, ownTenantId: 'default' })
export const check = (guard: TargetGuard, origin: string, tenantId = 'default', path = '/') =>
  guard.checkTarget(tenantId, { origin, path })

/** Answers in turns. */
export function answering(...answers: string[][]): ResolveName & { calls: number } {
  const resolve = (tenantId: string) => {
    assert(tenantId === 'default' || tenantId === 'other')
    const answer = answers[resolve.calls++ % answers.length]!
    return Promise.resolve(answer.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })))
  }
  resolve.calls = 0
  return resolve
}

export function lookup(
  guard: TargetGuard,
  name: string,
  { tenantId = 'default', origin = `http://${name}` } = {},
): Promise<LookupAddress[]> {
  return new Promise((resolve, reject) => {
    guard.lookupOf(tenantId, origin)(name, { all: true }, (error, addresses) =>
      error === null ? resolve(addresses as LookupAddress[]) : reject(error),
    )
  })
}
