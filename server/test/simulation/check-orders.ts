// Checks requests made by hand: one request has one effect however often it was sent, the effect of every answered
// request exists, and no effect exists without a request.
import { executionIdAt } from '../../src/domain/queue/execution.ts'
import type { EpochMs } from '../../src/lib/time/epoch.ts'
import type { CheckedJob, Context, RecordedExecution } from './checker.ts'
import { ORDER_KINDS, type Order } from './orders.ts'

export function checkOrders(context: Context, jobs: readonly CheckedJob[]): void {
  const byJob = Map.groupBy(context.evidence.orders, ({ jobId }) => jobId)
  for (const { job, executions } of jobs) {
    const orders = byJob.get(job.jobId) ?? []
    for (const kind of ORDER_KINDS) {
      const own = orders.filter((order) => order.kind === kind)
      const made = executions.filter((execution) => execution.kind === kind)
      for (const order of own) checkAnswers(context, order)
      if (kind === 'trigger' || kind === 'retry') checkMade(context, own, made)
      else if (kind === 'redrive') checkRedriven(context, own, made)
      else checkBackfill(context, job.jobId, own, made)
    }
  }
}

function checkAnswers({ say }: Context, { kind, jobId, answers, refused }: Order): void {
  const different = new Set(answers)
  if (different.size > 1) say('I21', `a ${kind} of ${jobId} with one key was answered with ${[...different]}`)
  if (different.size > 0 && refused) say('I21', `a ${kind} of ${jobId} with one key was done and refused`)
}

/** Each answered request has its execution; an unanswered request may have one. */
function checkMade({ say }: Context, orders: readonly Order[], made: readonly RecordedExecution[]): void {
  const byId = new Map(made.map((one) => [one.executionId, one]))
  let unanswered = 0
  for (const { kind, count, answers, refused, original } of orders) {
    const [answer] = answers
    if (answer === undefined) {
      if (!refused) unanswered += count
      continue
    }
    for (const executionId of executionsOf(answer, count)) {
      const one = byId.get(executionId)
      if (one === undefined) say('I22', `the ${kind} ${executionId} was answered and is on no record`)
      else if (one.retryOf !== original)
        say('I22', `${executionId} runs ${one.retryOf} again, not ${original}`)
      byId.delete(executionId)
    }
  }
  if (byId.size > unanswered) say('I2', `${[...byId.keys()]} were made, and nobody asked for them`)
}

/** Of many triggers the answer is their batch. */
function executionsOf(answer: string, count: number): string[] {
  return count === 1 ? [answer] : Array.from({ length: count }, (_, place) => executionIdAt(answer, place))
}

/** A letter is redriven once. */
function checkRedriven({ say }: Context, orders: readonly Order[], made: readonly RecordedExecution[]): void {
  const redriven = new Set<string>()
  for (const { executionId, retryOf } of made) {
    if (retryOf === null || redriven.has(retryOf)) say('I18', `${executionId} redrives ${retryOf} once more`)
    else redriven.add(retryOf)
  }
  if (made.length > 0 && orders.length === 0) say('I2', `${made[0]!.executionId} was redriven by nobody`)
}

/** Every past slot once, unless the job was deleted meanwhile. */
function checkBackfill(
  { say, evidence }: Context,
  jobId: string,
  orders: readonly Order[],
  made: readonly RecordedExecution[],
): void {
  const wanted = new Set<EpochMs>(orders.flatMap(({ slots }) => slots))
  for (const { executionId, slot } of made)
    if (!wanted.delete(slot)) say('I3', `${executionId} backfills a slot once more, or one nobody wanted`)
  const isDone = ({ answers: [id] }: Order) =>
    id !== undefined && evidence.store.operations.get(id)?.operation.status === 'COMPLETED'
  if (wanted.size > 0 && orders.some(isDone))
    say('I22', `${wanted.size} slots of the backfill of ${jobId} are on no record`)
}
