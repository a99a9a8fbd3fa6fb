// Whether this installation has more than one tenant. Asked of the store in the background and remembered: for 5 s while
// there is one tenant, for good once there are two, even if one is deleted. Until the first answer, tenants share. Workers
// ask another question (`countWithJobs`): a tenant without jobs takes streams, uploads and reads, and no place of a worker.
import type { Clock } from '../../ports/clock.ts'
import type { Tenants } from '../../ports/tenants.ts'

export interface TenantCensusDeps {
  clock: Pick<Clock, 'monotonicMs'>
  tenants: Pick<Tenants, 'list'>
}

const ageMsMax = 5_000

export class TenantCensus {
  readonly #deps: TenantCensusDeps
  #isShared = true
  /** Null: the store has not answered yet. */
  #countedMs: number | null = null
  #isCounting = false

  constructor(deps: TenantCensusDeps) {
    this.#deps = deps
  }

  isShared(): boolean {
    if (this.#isOld()) void this.count()
    return this.#isShared
  }

  /** Never rejects: while the store does not answer, the last answer stands. */
  async count(): Promise<void> {
    if (this.#isCounting) return
    this.#isCounting = true
    try {
      const { total } = await this.#deps.tenants.list({ before: null, limit: 1 })
      this.#isShared = total > 1
      this.#countedMs = this.#deps.clock.monotonicMs()
    } catch {
      // Asked again the next time that it matters.
    } finally {
      this.#isCounting = false
    }
  }

  #isOld(): boolean {
    if (this.#countedMs === null) return true
    return !this.#isShared && this.#deps.clock.monotonicMs() - this.#countedMs > ageMsMax
  }
}
