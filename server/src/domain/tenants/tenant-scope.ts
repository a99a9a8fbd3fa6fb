// The tenant on whose behalf a request runs, for the length of the request: the API sets it once the caller is known, the
// database pools of the API read it. It travels with the asynchronous calls of the request and with nothing else, so a
// statement that names the wrong tenant, or forgets it, is still run on behalf of the right one.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { PlaceHolder } from './tenant-shares.ts'

const scope = new AsyncLocalStorage<PlaceHolder>()

export function actForTenant<T>(tenantId: string, work: () => T): T {
  return actForCaller({ tenantId, operator: false }, work)
}

export function actForCaller<T>(caller: PlaceHolder, work: () => T): T {
  return scope.run(caller, work)
}

/** Null: the call belongs to no tenant. */
export function tenantActedFor(): string | null {
  return scope.getStore()?.tenantId ?? null
}

/** Null: the call belongs to no caller. */
export function callerActedFor(): PlaceHolder | null {
  return scope.getStore() ?? null
}
