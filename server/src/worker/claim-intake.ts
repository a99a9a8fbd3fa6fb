// From the answer of a claim to executions in flight: loads everything that is needed to run them (definitions, the
// results of parents, signing keys, limits of tenants) and puts them in flight.
//
// States of a claim: requested (its answer is awaited) -> hydrating (the answer has come) -> in flight. A claim that
// does not get there (its answer was lost, the lease has changed, the worker drains) is noted as an unknown claim.
// Invariants: room for a claim stays requested until it has ended either way; nothing is put in flight under another
// worker id than it was claimed with; definitions are not pruned while a claim that loaded some is hydrating.
import { EXECUTOR_KINDS } from '../domain/executors/list.ts'
import { runsAfterOthers } from '../domain/queue/execution.ts'
import type { Clock } from '../ports/clock.ts'
import { type GraphRuns, type ParentResult, parentsPerLook } from '../ports/graph-runs.ts'
import type { Claimed, ClaimedLive } from '../ports/queue.ts'
import type { CallSigner } from './call-signer.ts'
import type { ClaimReservations } from './claim-reservations.ts'
import type { Definitions } from './definitions.ts'
import type { HeldExecution } from './held-execution.ts'
import type { InFlight } from './in-flight.ts'
import type { TenantLimits } from './tenant-limits.ts'
import { keysOf, tenantsCalled, tenantsOf, toHeldExecutions } from './to-held-executions.ts'
import type { UnknownClaims } from './unknown-claims.ts'

export interface IntakeDeps {
  clock: Pick<Clock, 'monotonicMs'>
  graphRuns: Pick<GraphRuns, 'parentsOf'>
  inFlight: Pick<InFlight, 'add' | 'tenants'>
  definitions: Definitions
  signer: Pick<CallSigner, 'load'>
  tenantLimits: TenantLimits
  /** Whether an execution may kill this process: then at most one suspect is in flight at a time. */
  isIsolated: boolean
  /** Null: no lease is held; nothing is claimed. */
  workerId: () => string | null
  /** Nothing more is claimed, and the executions of a claim that was under way go back at once. */
  isDraining: () => boolean
  /** Called when there are new executions in flight. */
  onClaimed: () => void
}

export interface ClaimUnderWay {
  workerId: string
  /** Executions that it may bring, at most. */
  requested: number
  /** Called with a claim that is about to be in flight. */
  onAdmitted?: (claimed: Claimed) => void
}

export class ClaimIntake {
  readonly #deps: IntakeDeps
  readonly #reservations: ClaimReservations
  readonly #unknownClaims: UnknownClaims

  constructor(deps: IntakeDeps, reservations: ClaimReservations, unknownClaims: UnknownClaims) {
    this.#deps = deps
    this.#reservations = reservations
    this.#unknownClaims = unknownClaims
  }

  /** Puts the executions of a claim in flight. An answer of null: it is not known which ones were claimed. */
  async admit(answer: Promise<Claimed | null>, claim: ClaimUnderWay): Promise<'more' | 'idle'> {
    const { inFlight, tenantLimits, onClaimed } = this.#deps
    const { workerId, requested, onAdmitted } = claim
    this.#reservations.requested += requested
    let isInFlight = false
    try {
      const claimed = await answer
      if (claimed === null) return 'idle'
      const executions = await this.#hydrate(claimed)
      const callers = tenantsCalled(executions)
      if (callers.size > 0) await this.#deps.signer.load(callers)
      await tenantLimits.load(tenantsOf(executions))
      if (this.#deps.workerId() !== workerId) return 'idle'
      if (this.#deps.isDraining()) return 'more'
      onAdmitted?.(claimed)
      tenantLimits.mark(executions, (tenantId) => inFlight.tenants.inFlight(tenantId))
      inFlight.add(executions)
      isInFlight = true
      if (executions.length === 0) return 'idle'
      onClaimed()
      return 'more'
    } finally {
      this.#reservations.requested -= requested
      // The answer was lost, or its executions were not put in flight.
      if (!isInFlight) this.#unknownClaims.note()
    }
  }

  async #hydrate(claimed: Claimed): Promise<HeldExecution[]> {
    const { definitions, clock, isIsolated } = this.#deps
    // Definitions that another claim has just loaded and not used yet must stay.
    if (this.#reservations.hydrating === 0) definitions.prune()
    this.#reservations.hydrating += 1
    try {
      for (const { definition } of claimed.live) if (definition !== undefined) definitions.add(definition)
      await definitions.load(keysOf(claimed))
      const parents = await this.#loadParents(claimed)
      return toHeldExecutions(claimed, { claimedMs: clock.monotonicMs(), parents, definitions, isIsolated })
    } finally {
      this.#reservations.hydrating -= 1
    }
  }

  /** An execution is not run without the results of its parents: when this fails, the claim counts as unknown. */
  async #loadParents({ live }: Claimed): Promise<Map<string, ParentResult[]>> {
    const ids = live.filter((one) => this.#isGivenParents(one)).map(({ executionId }) => executionId)
    const parents = new Map<string, ParentResult[]>()
    for (let at = 0; at < ids.length; at += parentsPerLook) {
      const found = await this.#deps.graphRuns.parentsOf(ids.slice(at, at + parentsPerLook))
      for (const [id, list] of found) parents.set(id, list)
    }
    return parents
  }

  #isGivenParents(one: ClaimedLive): boolean {
    if (!runsAfterOthers(one)) return false
    const { executor } = this.#deps.definitions.get(one.jobId, one.version)!
    return EXECUTOR_KINDS[executor].isGivenParents ?? false
  }
}
