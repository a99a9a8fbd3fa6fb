// Graphs of 2 to 12 jobs beside the others: some of them have several roots, which share a schedule or do not, and two
// of a tenant may grow together. Roots stay roots, and each keeps something that depends on it.
import { OVERLAP_POLICIES } from '@carillon/contract/constants.ts'
import type { JobRequest } from '@carillon/contract/job.ts'
import { planJob } from '../../src/api/jobs/plan-new-job.ts'
import type { ConcurrencyKey, OverlapPolicy } from '../../src/domain/jobs/job.ts'
import { epochMs, toRfc3339 } from '../../src/lib/time/epoch.ts'
import { unlimitedTier } from '../../testing/memory-store/first-tiers.ts'
import { Dice } from '../fuzz/dice.ts'
import { drawRule } from '../graphs/random-graph.ts'
import type { Simulation } from './world.ts'

export interface GraphOptions {
  /** No slot lies later; from the start of the simulation. */
  untilMs: number
  graphs: number
  /** The tenants that own the graphs. */
  tenants: readonly string[]
  /** Keys that some of their jobs share with others. */
  keys: readonly ConcurrencyKey[]
  /** Where jobs of a target are called. */
  urlOf: (target: GraphTarget, dice: Dice) => string
}

export type GraphTarget = 'quick' | 'flaky' | 'slow' | 'broken' | 'wrong' | 'later'

/** One job of a graph. */
export interface GraphMember {
  jobId: string
  tenantId: string
  /** spare: it may be deleted. */
  role: 'root' | 'inner' | 'spare'
  /** The dependency it keeps; null: it is a root. */
  spine: string | null
  /** Other jobs on which it may depend: none is reached from it. */
  others: readonly string[]
}

/** Each root fires about so often. */
const runsMean = 72
const membersMax = 12

export function startGraphs(sim: Simulation, options: GraphOptions): void {
  const dice = new Dice(sim.seedOf('graphs'))
  const ids = sim.idsOf('graph api')
  let before: { members: string[]; everySeconds: number } = { members: [], everySeconds: 0 }
  for (let i = 0; i < options.graphs; i++) {
    // Each two in a row belong to the same tenant, and may grow together.
    const tenantId = options.tenants[Math.floor(i / 2) % options.tenants.length]!
    const partner = i % 2 === 0 ? null : before
    const drawn = Math.max(
      10,
      Math.round((options.untilMs / 1_000 / runsMean) * (0.5 + dice.between(0, 100) / 100)),
    )
    const everySeconds = partner !== null && dice.chance(0.6) ? partner.everySeconds : drawn
    const graph = new GraphMaker(sim, dice, { tenantId, everySeconds, ...options })
    before = { members: graph.create(`graph ${i}`, () => ids.next(), partner?.members ?? []), everySeconds }
  }
}

class GraphMaker {
  readonly #sim: Simulation
  readonly #dice: Dice
  readonly #options: GraphOptions & { tenantId: string; everySeconds: number }

  constructor(
    sim: Simulation,
    dice: Dice,
    options: GraphOptions & { tenantId: string; everySeconds: number },
  ) {
    this.#sim = sim
    this.#dice = dice
    this.#options = options
  }

  /** Returns the ids of its jobs, in an order in which none depends on a later one. */
  create(name: string, newId: () => string, partner: readonly string[]): string[] {
    const dice = this.#dice
    const roots = dice.chance(0.5) ? 1 : dice.between(2, 3)
    const count = dice.between(2 * roots, membersMax)
    const isSwift = dice.chance(0.4)
    const jobIds: string[] = []
    for (let nodeIndex = 0; nodeIndex < count; nodeIndex++) {
      const jobId = newId()
      const isRoot = nodeIndex < roots
      // Each root has one that always depends on it.
      const spine = isRoot ? null : nodeIndex < 2 * roots ? jobIds[nodeIndex - roots]! : dice.pick(jobIds)
      const parents = spine === null ? [] : [spine, ...jobIds.filter(() => dice.chance(0.15))]
      const depends_on = [...new Set(parents)].map((job_id) => ({ job_id, on: drawRule(dice) }))
      const base = {
        ...this.#drawRequest(`${name} ${nodeIndex}`, isSwift),
        ...this.#drawLimits(isRoot, isSwift),
      }
      this.#createJob(jobId, { ...base, ...(isRoot ? this.#drawRoot() : { depends_on }) })
      const isSpare = !isRoot && nodeIndex === count - 1 && count > 2 * roots
      const role = isRoot ? 'root' : isSpare ? 'spare' : 'inner'
      const { tenantId } = this.#options
      this.#sim.graphs.set(jobId, { jobId, tenantId, role, spine, others: [...partner, ...jobIds] })
      // Nothing comes to depend on a spare one.
      if (!isSpare) jobIds.push(jobId)
    }
    return jobIds
  }

  #createJob(jobId: string, request: JobRequest): void {
    const { tenantId } = this.#options
    const now = this.#sim.world.clock.databaseNow()
    const enqueue = () => {
      throw new Error('no job of a graph runs at once')
    }
    const context = { jobId, tenantId, tier: unlimitedTier, by: 'somebody', now, enqueue }
    void this.#sim.tables.jobs.create(planJob(request, context))
  }

  /** Some of a graph have another schedule than the others. */
  #drawRoot(): Pick<JobRequest, 'schedule' | 'jitter_seconds' | 'misfire_policy'> {
    const { everySeconds, untilMs } = this.#options
    const every_seconds = this.#dice.chance(0.15) ? everySeconds + 7 : everySeconds
    const timeOf = (ms: number) => toRfc3339(epochMs(this.#sim.options.startAt + ms - (ms % 1_000)))
    const schedule = {
      type: 'INTERVAL',
      every_seconds,
      start_at: timeOf(0),
      end_at: timeOf(untilMs),
    } as const
    const jitter_seconds = this.#dice.chance(0.3) ? this.#dice.between(1, Math.min(20, every_seconds - 2)) : 0
    return { schedule, jitter_seconds, misfire_policy: this.#dice.pick(['FIRE_ONCE', 'FIRE_ALL', 'SKIP']) }
  }

  #drawRequest(
    name: string,
    isSwift: boolean,
  ): Pick<JobRequest, 'name' | 'execution' | 'retry_policy' | 'priority'> {
    const dice = this.#dice
    const rare = dice.pick<GraphTarget>(['flaky', 'slow', 'broken', 'wrong', 'later'])
    const target = isSwift ? (dice.chance(0.2) ? 'wrong' : 'quick') : dice.chance(0.5) ? rare : 'quick'
    return {
      name: `${name} ${target}`,
      execution: {
        callback_url: this.#options.urlOf(target, dice),
        timeout_seconds: dice.between(20, 60),
      },
      retry_policy: {
        max_retries: dice.between(0, 2),
        backoff: 'FIXED',
        initial_delay_ms: dice.between(500, 5_000),
        max_delay_ms: 10_000,
      },
      priority: dice.between(1, 10),
    }
  }

  /** Limits that may cause long waits are for graphs that are soon over, or the simulation would not end. */
  #drawLimits(isRoot: boolean, isSwift: boolean): Pick<JobRequest, 'overlap_policy' | 'concurrency_key'> {
    const dice = this.#dice
    const policies: readonly OverlapPolicy[] = isSwift
      ? OVERLAP_POLICIES
      : OVERLAP_POLICIES.filter((policy) => policy !== 'BUFFER_ALL')
    // One that runs after others waits for itself under each policy but one.
    const overlap_policy = isRoot ? dice.pick(policies) : dice.pick(['ALLOW', 'ALLOW', 'SKIP'] as const)
    const concurrency_key = dice.pick(this.#options.keys)
    return { overlap_policy, ...(isSwift && dice.chance(0.15) ? { concurrency_key } : {}) }
  }
}
