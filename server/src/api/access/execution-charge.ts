// Charges a request for the executions that it asks for, before they are made, against the executions a minute of its
// tenant. A tenant without that limit is not charged, and costs no statement.
import type { FastifyRequest } from 'fastify'
import type { ExecutionBudgets } from '../../ports/execution-budgets.ts'
import { budgetNotReturned } from '../../telemetry/events.ts'
import { ApiError } from '../http/api-error.ts'

export interface ChargeDeps {
  executionBudgets: Pick<ExecutionBudgets, 'draw' | 'giveBack'>
}

export interface Charge {
  /** There is no budget: to be thrown instead of doing the work. Not before: a repeated request gets its answer all the same. */
  refusal: ApiError | null
  /** Returns the charge of executions that were not made. To be called once the outcome is known. */
  settle(made: number): Promise<void>
}

const noCharge: Charge = { refusal: null, settle: async () => {} }

/** All of them or none. */
export async function chargeFor(
  { executionBudgets }: ChargeDeps,
  { caller }: Pick<FastifyRequest, 'caller'>,
  count: number,
): Promise<Charge> {
  // A request with the token of an attempt has no caller.
  if (count === 0 || caller.tier.executionsPerMinute === null) return noCharge
  const { tenantId, tier } = caller
  const [grant] = await executionBudgets.draw([{ tenantId, use: 'trigger', count, whole: true }])
  const { granted, executionsPerMinute, restInMs } = grant!
  if (executionsPerMinute === null) return noCharge
  if (granted === 0)
    return { ...noCharge, refusal: refuse(tier.tier, { executionsPerMinute, count, restInMs }) }
  const settle = async (made: number) => {
    if (made >= count) return
    const charges = [{ tenantId, count: count - made }]
    // The request is answered: a failure here costs the tenant this part of its budget.
    await executionBudgets.giveBack(charges).catch((error: unknown) => budgetNotReturned.emit({ error }))
  }
  return { refusal: null, settle }
}

interface Refused {
  executionsPerMinute: number
  count: number
  /** Null: it is more than may ever come at once. */
  restInMs: number | null
}

function refuse(tier: string, { executionsPerMinute, count, restInMs }: Refused): ApiError {
  const limit = `executions_per_minute is ${executionsPerMinute} on the tier ${tier}`
  if (restInMs === null) {
    const detail = `${count} executions at once are more than two minutes' worth: ${limit}.`
    return new ApiError('TIER_LIMIT', detail)
  }
  const asked = count === 1 ? 'an execution' : `${count} executions`
  const detail = `The tenant has no budget for ${asked} now: ${limit}, and two minutes' worth may come at once.`
  return new ApiError('QUOTA_EXCEEDED', detail, [], { retryAfterSeconds: Math.ceil(restInMs / 1_000) })
}
