// After an upgrade: moves the jobs that an older program planned by clock rule 1 to rule 2, each with a version of its own,
// so that slots to come follow rule 2 and slots so far are judged by the rule they were planned with. Safe to stop
// anywhere and to repeat: a job that was moved has a later version, and the one before it is settled without a look.
import { moveToRule2 } from '../domain/jobs/clock-rule.ts'
import type { JobVersions, OlderVersion, VersionKey } from '../ports/job-versions.ts'
import type { Jobs } from '../ports/jobs.ts'

export interface MoveDeps {
  jobs: Pick<Jobs, 'change'>
  jobVersions: Pick<JobVersions, 'findOlder' | 'settleOlder'>
  /** Called after a commit that changed jobs. */
  onChanged: () => void
}

const versionsMax = 100
/** Older programs may write versions until the last of them has stopped. */
export const moveClockRuleEveryMs = 60_000
/** Recorded as the author of the version. */
const ourselves = 'carillon'

export class ClockRuleMover {
  readonly #deps: MoveDeps
  /** How far this round is; null: it begins. */
  #after: VersionKey | null = null

  constructor(deps: MoveDeps) {
    this.#deps = deps
  }

  /** A round visits every older version once; jobs with a slot under way are left to the next round. */
  async step(): Promise<'more' | 'idle'> {
    const { jobVersions, onChanged } = this.#deps
    const found = await jobVersions.findOlder(this.#after, versionsMax)
    const settled: OlderVersion[] = []
    let moved = 0
    for (const one of found) {
      const did = one.isInUse ? await this.#move(one) : 'nothing'
      if (did === 'moved') moved += 1
      if (did !== 'later') settled.push(one)
    }
    if (settled.length > 0) await jobVersions.settleOlder(settled)
    if (moved > 0) onChanged()
    const isOver = found.length < versionsMax
    this.#after = isOver ? null : found.at(-1)!
    return isOver ? 'idle' : 'more'
  }

  async #move({ tenantId, jobId, version }: OlderVersion): Promise<'moved' | 'nothing' | 'later'> {
    let did: 'moved' | 'nothing' | 'later' = 'nothing'
    await this.#deps.jobs.change({ tenantId, jobId }, (job) => {
      did = 'nothing'
      // It has a later version since we looked.
      if (job.version !== version) return null
      const write = moveToRule2(job, ourselves)
      if (typeof write === 'string') {
        did = write
        return null
      }
      did = 'moved'
      return write
    })
    return did
  }
}
