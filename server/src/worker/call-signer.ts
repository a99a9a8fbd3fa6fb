// Signs callbacks with the keys of their tenant, and makes the tokens of their attempts. The keys of a tenant are fetched
// with the first claim of an execution of it and then again every minute, so that a new key is used soon and a call costs
// no query.
import assert from 'node:assert/strict'
import { type AttemptOfTenant, attemptTokenOf } from '../domain/queue/attempt-token.ts'
import { signWebhook } from '../domain/queue/webhook-signature.ts'
import { HmacSha256 } from '../lib/hmac.ts'
import type { Secrets } from '../ports/secrets.ts'

export interface CallToSign extends AttemptOfTenant {
  /** In seconds since the epoch. */
  timestamp: number
  body: string
}

interface TenantKeys {
  keys: readonly HmacSha256[]
  /** Whether they were used since the last refresh. */
  isUsed: boolean
}

export const refreshKeysEveryMs = 60_000
/** Tenants in one query. */
const tenantsMax = 1_000

export class CallSigner {
  readonly #secrets: Pick<Secrets, 'tokenKey' | 'signingKeys'>
  readonly #byTenant = new Map<string, TenantKeys>()
  #tokenKey: HmacSha256 | null = null

  constructor(secrets: Pick<Secrets, 'tokenKey' | 'signingKeys'>) {
    this.#secrets = secrets
  }

  /** Makes sure that calls of these tenants can be signed. */
  async load(tenantIds: ReadonlySet<string>): Promise<void> {
    this.#tokenKey ??= new HmacSha256(await this.#secrets.tokenKey())
    const missing = [...tenantIds].filter((tenantId) => {
      const known = this.#byTenant.get(tenantId)
      if (known !== undefined) known.isUsed = true
      return known === undefined
    })
    await this.#fetch(missing)
  }

  /** Fetches the keys that are in use again and forgets the others. When it fails, the known keys stay in use. */
  async refresh(): Promise<'idle'> {
    for (const [tenantId, { isUsed }] of this.#byTenant) if (!isUsed) this.#byTenant.delete(tenantId)
    const used = [...this.#byTenant.keys()]
    await this.#fetch(used)
    // Only now: as long as it fails, no key that is in use may be forgotten.
    for (const tenantId of used) this.#byTenant.get(tenantId)!.isUsed = false
    return 'idle'
  }

  /** Only after `load` of the tenant. */
  sign({ timestamp, body, ...attempt }: CallToSign): { token: string; signature: string } {
    const known = this.#byTenant.get(attempt.tenantId)
    assert(known !== undefined && this.#tokenKey !== null, 'a call was made before its keys were loaded')
    known.isUsed = true
    return {
      token: attemptTokenOf(this.#tokenKey, attempt),
      signature: signWebhook(known.keys, { id: attempt.executionId, timestamp, body }),
    }
  }

  async #fetch(tenantIds: readonly string[]): Promise<void> {
    for (let i = 0; i < tenantIds.length; i += tenantsMax) {
      const asked = tenantIds.slice(i, i + tenantsMax)
      const found = await this.#secrets.signingKeys(asked)
      const keysOf = new Map(found.map(({ tenantId, keys }) => [tenantId, keys]))
      for (const tenantId of asked) {
        // A deleted tenant has none: its last calls go out unsigned, and receivers refuse them.
        const keys = (keysOf.get(tenantId) ?? []).map((key) => new HmacSha256(key))
        const isUsed = this.#byTenant.get(tenantId)?.isUsed ?? true
        this.#byTenant.set(tenantId, { keys, isUsed })
      }
    }
  }
}
