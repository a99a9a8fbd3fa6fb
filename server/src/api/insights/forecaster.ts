// Makes forecasts: a page of jobs at a time, in slices that let other work run in between, one forecast after the
// other, each cached for a minute. Requests for the same forecast meanwhile wait for the same result.
import { Forecast, type Peak } from '../../domain/scheduling/forecast.ts'
import { RecentLookups } from '../../lib/recent-lookups.ts'
import type { EpochMs } from '../../lib/time/epoch.ts'
import type { StorePorts } from '../../ports/store.ts'
import type { World } from '../../ports/world.ts'

export interface ForecasterDeps extends Pick<World, 'clock' | 'timers'>, Pick<StorePorts, 'plannedJobs'> {}

export interface Forecasted {
  from: EpochMs
  counts: readonly number[]
  peaks: readonly Peak[]
  jobsSeen: number
  complete: boolean
  asOf: EpochMs
}

const ageMsMax = 60_000
const entriesMax = 200
const jobsMax = 20_000
const pageJobs = 500
/** Of computing: then the others get their turn. */
const sliceMs = 10
/** Of computing in all. */
const workMsMax = 1_000

export class Forecaster {
  readonly #deps: ForecasterDeps
  readonly #recent: RecentLookups<Forecasted>
  #last: Promise<unknown> = Promise.resolve()

  constructor(deps: ForecasterDeps) {
    this.#deps = deps
    this.#recent = new RecentLookups(deps.clock, { ageMsMax, absentAgeMsMax: 0, entriesMax })
  }

  async forecast(tenantId: string, hours: number): Promise<Forecasted> {
    const made = await this.#recent.get(`${tenantId} ${hours}`, () => this.#inTurn(tenantId, hours))
    return made!
  }

  #inTurn(tenantId: string, hours: number): Promise<Forecasted> {
    const made = this.#last.then(() => this.#make(tenantId, hours))
    this.#last = made.catch(() => {})
    return made
  }

  async #make(tenantId: string, hours: number): Promise<Forecasted> {
    const { clock, timers, plannedJobs } = this.#deps
    const asOf = clock.databaseNow()
    const forecast = new Forecast(asOf, hours)
    let after: string | null = null
    let workedMs = 0
    let complete = false
    while (!complete && forecast.jobsSeen < jobsMax && workedMs < workMsMax) {
      const page = await plannedJobs.listPlanned({ tenantId, after, limit: pageJobs })
      let beganMs = clock.monotonicMs()
      for (const job of page) {
        forecast.add(job)
        const sinceMs = clock.monotonicMs() - beganMs
        if (sinceMs < sliceMs) continue
        workedMs += sinceMs
        await timers.wait(0)
        beganMs = clock.monotonicMs()
      }
      workedMs += clock.monotonicMs() - beganMs
      after = page.at(-1)?.jobId ?? null
      complete = page.length < pageJobs
    }
    const { from, counts, jobsSeen } = forecast
    return { from, counts, peaks: forecast.peaks(), jobsSeen, complete, asOf }
  }
}
