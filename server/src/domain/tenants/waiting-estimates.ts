// How many executions of a tenant with a limit wait, as a process believes: the latest count, and the number that it has
// admitted since. Counts are not taken for each request: far from the limit one stands for ten seconds; near it, or when
// it would refuse, for a second, and longer the more there is to count. So several processes may together go beyond the
// limit by the number that they admit within that time.

export interface WaitingCount {
  /** The limit of the tier; null: there is none. */
  waitingMax: number | null
  waiting: number
}

const farMs = 10_000
const nearMsMin = 1_000
/** Near the limit: this part of it or more. */
const nearShare = 0.8
/** Counting takes about 1 ms a thousand: so it takes at most 2 % of a core. */
const nearMsEach = 0.05
const tenantsMax = 10_000

interface Estimate extends WaitingCount {
  countedMs: number
  admitted: number
}

interface WaitingEstimatesOptions {
  /** How long a count stands at least that would refuse: shorter where a refusal cannot be repeated. */
  refusingMsMin?: number
}

export class WaitingEstimates {
  readonly #estimates = new Map<string, Estimate>()
  readonly #refusingMsMin: number

  constructor({ refusingMsMin = nearMsMin }: WaitingEstimatesOptions = {}) {
    this.#refusingMsMin = refusingMsMin
  }

  /** Whether a count is wanted before so many more are judged. */
  isOld(tenantId: string, more: number, nowMs: number): boolean {
    const found = this.#estimates.get(tenantId)
    if (found === undefined) return true
    const { waitingMax, waiting, admitted, countedMs } = found
    if (waitingMax === null) return nowMs >= countedMs + farMs
    const all = waiting + admitted + more
    if (all <= waitingMax * nearShare) return nowMs >= countedMs + farMs
    const leastMs = all > waitingMax ? this.#refusingMsMin : nearMsMin
    return nowMs >= countedMs + Math.max(leastMs, waiting * nearMsEach)
  }

  note(tenantId: string, count: WaitingCount, nowMs: number): void {
    if (!this.#estimates.has(tenantId) && this.#estimates.size >= tenantsMax)
      this.#estimates.delete(this.#estimates.keys().next().value!)
    this.#estimates.set(tenantId, { ...count, countedMs: nowMs, admitted: 0 })
  }

  /** How many more may wait. Of a tenant that was never counted: any number. */
  roomOf(tenantId: string): number {
    const found = this.#estimates.get(tenantId)
    if (found === undefined || found.waitingMax === null) return Number.POSITIVE_INFINITY
    return Math.max(0, found.waitingMax - found.waiting - found.admitted)
  }

  /** How many wait; null: it was never counted. */
  usedOf(tenantId: string): number | null {
    const found = this.#estimates.get(tenantId)
    return found === undefined ? null : found.waiting + found.admitted
  }

  admit(tenantId: string, more: number): void {
    const found = this.#estimates.get(tenantId)
    if (found !== undefined) found.admitted += more
  }
}
