// The connections of a client, by tenant and origin. No connection carries calls of two tenants: a second answer to a call
// would otherwise be read as the answer to the next call, which may be another tenant's.
import type { Timers } from '../../ports/timers.ts'
import type { Place } from './connection.ts'
import { IdleConnections } from './idle-connections.ts'
import { HttpOrigin } from './origin.ts'

export interface PoolOptions {
  /** Connections per tenant and origin; more calls wait. */
  connectionsMax: number
  /** Pairs of tenant and origin with kept connections. */
  originsMax: number
  /** Idle connections of all of them together. */
  idleConnectionsMax: number
  /** How long an idle connection is kept, in milliseconds. */
  idleMs: number
}

export interface PoolDeps {
  timers: Timers
  /** A monotonic clock. */
  nowMs: () => number
  /** How the connections of a tenant to an origin are opened. */
  placeOf: (tenantId: string, origin: string) => { host: string; place: Place }
  /** A connection failed. */
  onError: (error: Error) => void
}

interface KnownOrigin {
  /** As the target is to read it. */
  host: string
  connections: HttpOrigin
}

type OriginsOfTenant = Map<string, KnownOrigin>

export class ConnectionPools {
  readonly #deps: PoolDeps
  readonly #options: PoolOptions
  readonly #idle: IdleConnections
  readonly #tenants = new Map<string, OriginsOfTenant>()
  #originsCount = 0
  /** Dropped ones whose calls have not ended. */
  readonly #retired = new Set<HttpOrigin>()

  constructor(deps: PoolDeps, options: PoolOptions) {
    this.#deps = deps
    this.#options = options
    this.#idle = new IdleConnections(options.idleConnectionsMax)
  }

  of(tenantId: string, origin: string): KnownOrigin {
    return this.#tenants.get(tenantId)?.get(origin) ?? this.#open(tenantId, origin)
  }

  /** Ends everything at once, calls in flight with this error. */
  destroy(error: Error): void {
    for (const origins of this.#tenants.values())
      for (const { connections } of origins.values()) connections.destroy(error)
    for (const origin of this.#retired) origin.destroy(error)
  }

  #open(tenantId: string, origin: string): KnownOrigin {
    if (this.#originsCount >= this.#options.originsMax) this.#makeRoom()
    const { timers, nowMs, placeOf, onError } = this.#deps
    const { host, place } = placeOf(tenantId, origin)
    const deps = { timers, nowMs, idle: this.#idle, onError }
    const known = { host, connections: new HttpOrigin(deps, place, this.#options) }
    const origins = this.#tenants.get(tenantId)
    if (origins === undefined) this.#tenants.set(tenantId, new Map([[origin, known]]))
    else origins.set(origin, known)
    this.#originsCount += 1
    return known
  }

  // The tenant with the most origins loses all of its own. Where none has many, all go: a search for each new origin would
  // take longer than connecting again.
  #makeRoom(): void {
    let mostOf = ''
    let most = 0
    for (const [tenantId, { size }] of this.#tenants) if (size > most) [mostOf, most] = [tenantId, size]
    if (most * 100 >= this.#options.originsMax) this.#drop(mostOf)
    else for (const tenantId of this.#tenants.keys()) this.#drop(tenantId)
  }

  /** Calls in flight end first. */
  #drop(tenantId: string): void {
    const origins = this.#tenants.get(tenantId)!
    this.#tenants.delete(tenantId)
    this.#originsCount -= origins.size
    for (const { connections } of origins.values()) {
      this.#retired.add(connections)
      connections.retire(() => this.#retired.delete(connections))
    }
  }
}
