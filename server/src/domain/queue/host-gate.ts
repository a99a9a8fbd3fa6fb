// Limits the calls of a worker to each target host: a share of its capacity in all, and nearly none of a tenant while the
// host keeps failing for it (the circuit breaker): failures of one tenant's calls delay no call of another. While tenants
// share the worker, one tenant leaves a tenth of the host to the others, and half of it while another's calls wait there.
// Consulted before and updated after every call, so it allocates little on that path: the record of a host is dropped
// when it is idle and healthy, and is reused for the next one.
//
// The name of a host here is a host with its port, and the tenant that calls it: see `hostKeyOf`.
import assert from 'node:assert'
import type { HttpOutcome } from '../../ports/http.ts'

export interface HostGateOptions {
  /** Calls in flight to one host at most. At least 1. */
  capPerHost: number
  /** Hosts remembered. Default 10,000. */
  hostsMax?: number
  /** Whether several tenants have jobs. Default: never. */
  isShared?: () => boolean
}

/** `ok`: the host is alive. `unknown`: the call says nothing about it, such as one we cancelled. */
export type HostOutcome = 'ok' | 'failed' | 'unknown'

/** Failures in a row that open a host. */
const failuresMax = 20
/** While open: calls in flight, and starts within any `openWindowMs`. */
const openInFlightMax = 4
const openStartsMax = 10
const openWindowMs = 1_000
/** For how long a call that found no room counts as waiting: it is tried again before. */
const waitingMs = 1_000
/** Records of forgotten hosts kept for the next ones. */
const sparesMax = 1_024

/** The calls of all tenants to a host. */
interface HostTotal {
  name: string
  inFlight: number
  /** Records of tenants at this host. */
  records: number
  /** The tenant's name of the host whose call found no room last, though it had less than half of it; and when. */
  refusedName: string
  refusedMs: number
}

interface Host {
  name: string
  total: HostTotal
  inFlight: number
  /** Failures since the last sign of life. */
  failuresInRow: number
  open: boolean
  /** When the last ten calls started while open, a ring; made when the record is first opened. */
  starts: Float64Array | null
  /** Where the oldest start stands in the ring. */
  oldest: number
}

/** An eighth of the worker's capacity, so that no host takes it all. */
export function hostCapOf(workerCapacity: number): number {
  return Math.max(1, Math.floor(workerCapacity / 8))
}

/** The name of a host for the calls of one tenant. */
export function hostKeyOf(host: string, tenantId: string): string {
  return `${host} ${tenantId}`
}

/** The host of a name. Older versions of the program stored names without a tenant. */
export function hostOfKey(name: string): string {
  const end = name.indexOf(' ')
  return end === -1 ? name : name.slice(0, end)
}

/** The tenant of a name; null: it has none. A further word says why executions wait: see `rateKeyOf`. */
export function tenantOfKey(name: string): string | null {
  return name.split(' ', 2)[1] ?? null
}

/**
 * The verdict of a call about its host: a transport error, a timeout, 5xx and 429 are failures, any other answer is
 * life.
 */
export function judgeHost(outcome: HttpOutcome): HostOutcome {
  if (outcome.kind === 'answered') return outcome.status >= 500 || outcome.status === 429 ? 'failed' : 'ok'
  switch (outcome.type) {
    case 'TIMEOUT':
    case 'CONNECTION_REFUSED':
    case 'CONNECTION_RESET':
    case 'DNS_RESOLUTION_FAILED':
    case 'TLS_ERROR':
    case 'INVALID_RESPONSE':
      return 'failed'
    case 'RESPONSE_TOO_LARGE':
      return 'ok'
    case 'INVALID_REQUEST':
    case 'TARGET_FORBIDDEN':
    case 'CANCELLED':
      return 'unknown'
  }
}

/** `nowMs` is monotonic throughout. */
export class HostGate {
  readonly #capPerHost: number
  readonly #openCap: number
  readonly #hostsMax: number
  readonly #isShared: () => boolean
  readonly #totals = new Map<string, HostTotal>()
  /** The longest remembered in front: it is the first to go when room is needed. */
  readonly #hosts = new Map<string, Host>()
  readonly #spares: Host[] = []

  constructor({ capPerHost, hostsMax = 10_000, isShared = () => false }: HostGateOptions) {
    assert(capPerHost >= 1 && hostsMax >= 1)
    this.#capPerHost = capPerHost
    this.#openCap = Math.min(openInFlightMax, capPerHost)
    this.#hostsMax = hostsMax
    this.#isShared = isShared
  }

  /** Counts the call in when there is room for it; every `true` is followed by one `leave`. */
  tryEnter(name: string, nowMs: number): boolean {
    const host = this.#hosts.get(name) ?? this.#remember(name)
    if (host === null) return false
    if (this.#roomOf(host, nowMs) === 0) {
      this.#refuse(host, nowMs)
      return false
    }
    host.inFlight += 1
    host.total.inFlight += 1
    if (host.open) {
      host.starts![host.oldest] = nowMs
      host.oldest = (host.oldest + 1) % openStartsMax
    }
    return true
  }

  leave(name: string, outcome: HostOutcome): void {
    const host = this.#hosts.get(name)
    assert(host !== undefined && host.inFlight > 0, 'a call left a host it had not entered')
    host.inFlight -= 1
    host.total.inFlight -= 1
    if (outcome === 'ok') {
      host.failuresInRow = 0
      host.open = false
    } else if (outcome === 'failed') {
      host.failuresInRow += 1
      if (host.failuresInRow >= failuresMax && !host.open) open(host)
    }
    if (host.inFlight === 0 && host.failuresInRow === 0) this.#forget(host)
  }

  /** How many calls could enter now. */
  room(name: string, nowMs: number): number {
    const host = this.#hosts.get(name)
    if (host !== undefined) return this.#roomOf(host, nowMs)
    if (this.#hosts.size >= this.#hostsMax && !this.#canMakeRoom()) return 0
    return this.#roomIn(this.#totals.get(hostOfKey(name)), { name, inFlight: 0 }, nowMs)
  }

  /** Another tenant's name of this host, if its calls wait for room that the calls of this name have left; else null. */
  waitingBeside(name: string, nowMs: number): string | null {
    const total = this.#hosts.get(name)?.total ?? this.#totals.get(hostOfKey(name))
    if (total === undefined || !isWaitedFor(total, name, nowMs)) return null
    return total.refusedName
  }

  /** How long until a call may enter: 0 when it may now, null when not before another one leaves. */
  waitMs(name: string, nowMs: number): number | null {
    if (this.room(name, nowMs) > 0) return 0
    const host = this.#hosts.get(name)
    if (host === undefined || !host.open || host.inFlight >= this.#openCap) return null
    // Whole milliseconds, as timers have them: a fraction too early would be in vain.
    return Math.ceil(host.starts![host.oldest]! + openWindowMs - nowMs)
  }

  isOpen(name: string): boolean {
    return this.#hosts.get(name)?.open ?? false
  }

  openHosts(): string[] {
    return [...this.#hosts.values()].filter((host) => host.open).map((host) => host.name)
  }

  /** Hosts remembered now. */
  get size(): number {
    return this.#hosts.size
  }

  #roomOf(host: Host, nowMs: number): number {
    const roomIn = this.#roomIn(host.total, host, nowMs)
    if (!host.open) return roomIn
    const room = Math.min(roomIn, this.#openCap - host.inFlight, openStartsMax)
    let free = 0
    while (free < room && host.starts![(host.oldest + free) % openStartsMax]! + openWindowMs <= nowMs)
      free += 1
    return free
  }

  /** Room at the host, for one tenant. `total`: undefined where nobody calls it. */
  #roomIn(
    total: HostTotal | undefined,
    { name, inFlight }: Pick<Host, 'name' | 'inFlight'>,
    nowMs: number,
  ): number {
    const cap = this.#capPerHost
    if (total === undefined) return cap - this.#leftToOthers(false)
    const ownMax = cap - this.#leftToOthers(isWaitedFor(total, name, nowMs))
    return Math.max(0, Math.min(cap - total.inFlight, ownMax - inFlight))
  }

  #leftToOthers(isWaitedFor: boolean): number {
    if (!this.#isShared()) return 0
    return isWaitedFor
      ? Math.floor(this.#capPerHost / 2)
      : Math.min(this.#capPerHost - 1, reserveOf(this.#capPerHost))
  }

  #refuse(host: Host, nowMs: number): void {
    const { total } = host
    if (!host.open && host.inFlight < this.#capPerHost / 2) {
      total.refusedName = host.name
      total.refusedMs = nowMs
    }
    if (host.inFlight === 0 && host.failuresInRow === 0) this.#forget(host)
  }

  #totalOf(name: string): HostTotal {
    const host = hostOfKey(name)
    let total = this.#totals.get(host)
    if (total === undefined) {
      total = { name: host, inFlight: 0, records: 0, refusedName: '', refusedMs: Number.NEGATIVE_INFINITY }
      this.#totals.set(host, total)
    }
    total.records += 1
    return total
  }

  #remember(name: string): Host | null {
    if (this.#hosts.size >= this.#hostsMax && !this.#makeRoom()) return null
    const total = this.#totalOf(name)
    const host = this.#spares.pop() ?? {
      name,
      total,
      inFlight: 0,
      failuresInRow: 0,
      open: false,
      starts: null,
      oldest: 0,
    }
    host.name = name
    host.total = total
    this.#hosts.set(name, host)
    return host
  }

  // Hosts with calls in flight go to the back as they are met, so the next search does not meet them again.
  #makeRoom(): boolean {
    let left = this.#hosts.size
    for (const host of this.#hosts.values()) {
      if (left-- === 0) return false
      if (host.inFlight === 0) {
        this.#forget(host)
        return true
      }
      this.#hosts.delete(host.name)
      this.#hosts.set(host.name, host)
    }
    return false
  }

  #canMakeRoom(): boolean {
    return this.#hosts.values().some((host) => host.inFlight === 0)
  }

  #forget(host: Host): void {
    this.#hosts.delete(host.name)
    host.total.records -= 1
    if (host.total.records === 0) this.#totals.delete(host.total.name)
    if (this.#spares.length === sparesMax) return
    host.failuresInRow = 0
    host.open = false
    this.#spares.push(host)
  }
}

/** Calls to a host that one tenant leaves to the others: a tenth, at least one. */
function reserveOf(cap: number): number {
  return Math.max(1, Math.floor(cap / 10))
}

/** Whether calls of another tenant than this name's wait for the host. */
function isWaitedFor({ refusedName, refusedMs }: HostTotal, name: string, nowMs: number): boolean {
  return refusedName !== '' && refusedName !== name && nowMs - refusedMs < waitingMs
}

function open(host: Host): void {
  host.open = true
  host.starts ??= new Float64Array(openStartsMax)
  host.starts.fill(Number.NEGATIVE_INFINITY)
  host.oldest = 0
}
