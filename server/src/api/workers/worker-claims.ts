// POST /api/v1/workers/claim: executions for a worker of the user's own, now or as soon as there are any.
import { ClaimReply, ClaimRequest } from '@carillon/contract/worker.ts'
import type { FastifyInstance } from 'fastify'
import { Unavailable } from '../../lib/unavailable.ts'
import type { Attempts } from '../../ports/attempts.ts'
import type { Clock } from '../../ports/clock.ts'
import type { GraphRuns } from '../../ports/graph-runs.ts'
import type { Claimed, Queue } from '../../ports/queue.ts'
import type { Wakeup } from '../../ports/wakeup.ts'
import type { Workers } from '../../ports/workers.ts'
import { ApiError } from '../http/api-error.ts'
import { closeSignal } from '../http/close-signal.ts'
import { route } from '../http/route.ts'
import { fillAnswer } from './claim-answer.ts'
import { listClaimed, type OneClaimed, toClaimedExecution, toHandBack } from './claimed-executions.ts'
import type { DefinitionCache } from './definition-cache.ts'
import { type OwnWorker, requireWorker } from './find-worker.ts'
import type { LongPollClaims } from './long-poll-claims.ts'

export interface ClaimRouteDeps {
  clock: Clock
  workers: Pick<Workers, 'find'>
  queue: Pick<Queue, 'releaseUnknown'>
  attempts: Pick<Attempts, 'report'>
  graphRuns: Pick<GraphRuns, 'parentsOf'>
  definitions: DefinitionCache
  longPollClaims: LongPollClaims
  wakeup: Wakeup
}

const limitDefault = 50

export function workerClaimRoutes(app: FastifyInstance, deps: ClaimRouteDeps): void {
  const { clock, workers, graphRuns, definitions, longPollClaims } = deps
  app.addHook('preClose', async () => longPollClaims.close())

  app.post<{ Body: ClaimRequest }>(
    '/workers/claim',
    route('workers', 'operate', 'Claim executions to run', {
      counted: 'apart',
      description:
        'A worker holds claimed executions until it reports their results or dies. It has one claim at a time: a later one ends the claim that still waits, with no executions. Do not simply repeat the request: after a lost response send `running`.',
      body: ClaimRequest,
      answer: ClaimReply,
    }),
    async ({ tenantId, caller, body }, reply): Promise<ClaimReply> => {
      const worker = await requireWorker(workers, tenantId, body.worker_id)
      const limit = await roomOf(deps, worker, body)
      if (worker.status === 'DRAINING' || limit <= 0) return { executions: [] }
      const handBack = (claimed: readonly OneClaimed[]) => void returnThese(deps, worker, claimed)
      const signal = closeSignal(reply)
      const claimed = await claim(deps, worker, {
        operator: caller.operator,
        concurrentMax: caller.tier.concurrentExecutionsMax,
        limit,
        waitMs: (body.wait_seconds ?? 0) * 1_000,
        signal,
        onUnclaimed: (late) => handBack(listClaimed(late)),
      })
      const all = listClaimed(claimed)
      try {
        const definitionOf = await definitions.load(all)
        const { taken, left, parents } = await fillAnswer(graphRuns, all, definitionOf)
        if (signal.aborted) {
          handBack(all)
          return { executions: [] }
        }
        handBack(left)
        // The answer is on its way; the client may be gone before it arrives.
        let isSent = false
        reply.raw.once('finish', () => {
          isSent = true
        })
        reply.raw.once('close', () => {
          if (!isSent) handBack(taken)
        })
        const now = clock.databaseNow()
        const executions = taken.map((one) =>
          toClaimedExecution(one, {
            definition: definitionOf(one)!,
            parents: parents.get(one.executionId),
            now,
          }),
        )
        return { executions }
      } catch (error) {
        handBack(all)
        throw error
      }
    },
  )
}

/**
 * How many executions the worker may take; executions under its name that it does not know of are handed back first.
 */
async function roomOf(
  { queue, wakeup }: ClaimRouteDeps,
  { workerId, capacity }: OwnWorker,
  { limit = limitDefault, running }: ClaimRequest,
): Promise<number> {
  if (running === undefined) return Math.min(limit, capacity)
  const executionIds = [...new Set(running.map((id) => id.toLowerCase()))]
  if ((await queue.releaseUnknown(workerId, executionIds)) > 0) wakeup.send('queue')
  return Math.min(limit, capacity - executionIds.length)
}

async function claim(
  { longPollClaims, workers }: ClaimRouteDeps,
  worker: OwnWorker,
  wish: Omit<Parameters<LongPollClaims['claim']>[0], 'worker'>,
): Promise<Claimed> {
  try {
    return await longPollClaims.claim({ ...wish, worker })
  } catch (error) {
    if (error instanceof ApiError || error instanceof Unavailable) throw error
    // A worker that was declared dead while it waited cannot hold anything: the store refuses its name.
    await requireWorker(workers, worker.tenantId, worker.workerId)
    throw error
  }
}

/** If this fails too, the executions stay with the worker until it dies, or until it lists the ones it holds. */
async function returnThese(
  { attempts, wakeup }: ClaimRouteDeps,
  { workerId }: OwnWorker,
  claimed: readonly OneClaimed[],
): Promise<void> {
  if (claimed.length === 0) return
  await attempts.report(toHandBack(workerId, claimed)).catch(() => {})
  wakeup.send('queue')
}
