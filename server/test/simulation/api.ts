// The API as reached by a called target that reports its result later: by the token it was called with, through the
// code that ends attempts for the real API. It keeps no state: a report with a lost reply is sent again.
import assert from 'node:assert/strict'
import { type Charge, chargeFor } from '../../src/api/access/execution-charge.ts'
import { endAttempts } from '../../src/api/executions/end-attempts.ts'
import { DefinitionCache } from '../../src/api/workers/definition-cache.ts'
import type { AttemptReport } from '../../src/domain/queue/attempt.ts'
import { type AttemptOfTenant, readAttemptToken } from '../../src/domain/queue/attempt-token.ts'
import type { Tier } from '../../src/domain/tenants/tenant.ts'
import { HmacSha256 } from '../../src/lib/hmac.ts'
import { Unavailable } from '../../src/lib/unavailable.ts'
import type { HeldAttempt } from '../../src/ports/attempts.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { Random } from '../../src/ports/random.ts'
import type { WriteStores } from '../../src/ports/requests.ts'
import type { StorePorts } from '../../src/ports/store.ts'
import type { Wakeup } from '../../src/ports/wakeup.ts'

export interface ApiDeps {
  clock: Clock
  random: Random
  wakeup: Wakeup
  ports: Pick<StorePorts, 'attempts' | 'queue' | 'secrets' | 'requests' | 'executionBudgets'>
  tierOf: (tenantId: string) => Tier | null
}

/** The attempt as the target received it. */
export interface Called {
  executionId: string
  token: string
}

// As in `api/executions/attempt-reports.ts`.
const looksMax = 5
const acceptedStatus = 202

export class SimulatedApi {
  readonly #deps: ApiDeps
  readonly #definitions: DefinitionCache
  #key: HmacSha256 | null = null

  constructor(deps: ApiDeps) {
    this.#deps = deps
    this.#definitions = new DefinitionCache(deps.ports.queue)
  }

  /** How the attempt ended. Rejects when the store did not answer. */
  async complete(called: Called, status: 'succeeded' | 'failed'): Promise<'taken' | 'over'> {
    const { clock, random, wakeup, ports } = this.#deps
    const attempt = await this.#read(called)
    const deps = { clock, random, wakeup, attempts: ports.attempts, definitions: this.#definitions }
    for (let looks = 0; looks < looksMax; looks++) {
      const held = await this.#find(attempt)
      if (held === null) return 'over'
      const word = toWord(held, status, clock)
      const { refused } = await endAttempts(deps, [{ held, workerId: null, word }])
      if (refused.length === 0) return 'taken'
    }
    return 'over'
  }

  /** A sign of life. */
  async note(called: Called, progress: number): Promise<'updated' | 'cancelled' | 'gone'> {
    const held = await this.#find(await this.#read(called))
    if (held === null) return 'gone'
    const { executionId, jobId, attempt, fence } = held
    const mark = { executionId, jobId, attempt, fence, workerId: null }
    const [answer] = await this.#deps.ports.attempts.update([{ ...mark, alive: true, progress }])
    return answer!.status
  }

  /** For so many executions, as for every request that makes some. Null: the tenant has no limit. */
  charge(tenantId: string, count: number): Promise<Charge> | null {
    const tier = this.#deps.tierOf(tenantId)
    if (tier === null || tier.executionsPerMinute === null) return null
    const caller = { tenantId, tier }
    return chargeFor(this.#deps.ports, { caller } as Parameters<typeof chargeFor>[1], count)
  }

  /**
   * A request with a key: its result, also when it is repeated. Null: it had none. `executions`: as many as it asks for.
   * Rejects with QUOTA_EXCEEDED when its tenant has no budget for them.
   */
  async ask(
    { tenantId, key, executions = 0 }: { tenantId: string; key: string; executions?: number },
    work: (stores: WriteStores) => Promise<string | null>,
  ): Promise<string | null> {
    const { ports, wakeup } = this.#deps
    const once = { tenantId, key, fingerprint: Uint8Array.of(1) }
    // Without a wait where there is no limit: such seeds keep their course.
    const charging = this.charge(tenantId, executions)
    const charge = charging === null ? null : await charging
    const outcome = await ports.requests.run({ once, dryRun: false }, async (stores) => {
      if (charge !== null && charge.refusal !== null) throw charge.refusal
      const value = await work(stores)
      return { value, reply: value === null ? null : { status: 202, headers: {}, body: value } }
    })
    if (charge !== null)
      await charge.settle(outcome.kind === 'done' && outcome.value !== null ? executions : 0)
    // A caller that repeats a request while the first is still in progress is told to try again.
    if (outcome.kind === 'in_flight') throw new Unavailable('the answer to the first request')
    assert(outcome.kind !== 'other_request', `the key ${key} is taken by another request`)
    for (const topic of ['queue', 'waiting', 'operations'] as const) wakeup.send(topic)
    return outcome.kind === 'done' ? outcome.value : outcome.reply.body
  }

  async #read({ executionId, token }: Called): Promise<AttemptOfTenant> {
    this.#key ??= new HmacSha256(await this.#deps.ports.secrets.tokenKey())
    const attempt = readAttemptToken(this.#key, executionId, token)
    assert(attempt !== null, `${token} is not a token of ${executionId}`)
    return attempt
  }

  async #find({ executionId, attempt, fence }: AttemptOfTenant): Promise<HeldAttempt | null> {
    const [held] = await this.#deps.ports.attempts.find([executionId])
    return held?.attempt === attempt && held.fence === fence ? held : null
  }
}

function toWord({ startedAt }: HeldAttempt, status: 'succeeded' | 'failed', clock: Clock): AttemptReport {
  const now = clock.databaseNow()
  return {
    startedAt,
    finishedAt: now,
    durationMs: startedAt === null ? null : now - startedAt,
    httpStatus: acceptedStatus,
    preview: null,
    error: status === 'failed' ? { type: 'HANDLER_ERROR', message: 'It did not work.' } : null,
  }
}
