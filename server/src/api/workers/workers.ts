// /api/v1/workers: the workers that run attempts. POST registers a worker of the user's own, DELETE lets it leave.
import {
  GoodbyeReply,
  Registered,
  RegisterRequest,
  WorkerList,
  WorkerListQuery,
  workersPerPage,
} from '@carillon/contract/worker.ts'
import type { FastifyInstance } from 'fastify'
import {
  type WorkerView,
  workerBeatMs,
  workerLeaseMs,
  workersPerTenantMax,
} from '../../domain/queue/worker.ts'
import { toRfc3339, toRfc3339OrNull } from '../../lib/time/epoch.ts'
import { Unavailable } from '../../lib/unavailable.ts'
import type { Queue } from '../../ports/queue.ts'
import type { StorePorts } from '../../ports/store.ts'
import type { Wakeup } from '../../ports/wakeup.ts'
import type { World } from '../../ports/world.ts'
import { workerRegistered } from '../../telemetry/events.ts'
import { ApiError } from '../http/api-error.ts'
import { readIdCursor, writeCursor } from '../http/cursor.ts'
import { route } from '../http/route.ts'
import { readQueryWords } from '../http/words.ts'
import { requireWorker } from './find-worker.ts'

export interface WorkerDeps extends Pick<World, 'ids'>, Pick<StorePorts, 'workers' | 'leases'> {
  queue: Pick<Queue, 'releaseUnknown'>
  wakeup: Wakeup
}

const tag = 'workers'
const capacityDefault = 50
const leaveTriesMax = 3

export function workerRoutes(app: FastifyInstance, deps: WorkerDeps): void {
  const { ids, workers, leases, wakeup } = deps

  app.get<{ Querystring: WorkerListQuery }>(
    '/workers',
    route(tag, 'read', 'The workers, oldest registration first', {
      description:
        'Operators see all workers, a tenant its own. Workers that died are shown for an hour, workers that deregistered for 10 minutes.',
      querystring: WorkerListQuery,
      answer: WorkerList,
      options: { preValidation: readQueryWords(WorkerListQuery) },
    }),
    async ({ tenantId, caller, query }): Promise<WorkerList> => {
      const of = { tenantId: caller.operator ? null : tenantId }
      const { status, limit = workersPerPage } = query
      const after = readIdCursor('workers', query)
      const wanted = { after, limit, ...(status === undefined ? {} : { status }) }
      const page = await workers.page({ ...of, ...wanted })
      const { active, draining, silent, deadLastHour, capacity, running } = await workers.count(of)
      const last = page.more ? page.workers.at(-1)! : null
      return {
        workers: page.workers.map(toItem),
        counts: { active, draining, dead_last_hour: silent + deadLastHour, capacity, running },
        next_cursor: last === null ? null : writeCursor('workers', last.workerId),
      }
    },
  )

  app.post<{ Body: RegisterRequest }>(
    '/workers',
    route(tag, 'operate', 'Register a worker', {
      counted: 'apart',
      description:
        'A registered worker may claim executions of its handlers. Each start of a program registers again; without heartbeats the registration expires.',
      body: RegisterRequest,
      response: { 201: Registered },
    }),
    async ({ tenantId, body, ip }, reply): Promise<Registered> => {
      const workerId = ids.next()
      const outcome = await leases.register({
        workerId,
        tenantId,
        host: body.host ?? ip,
        port: body.port ?? null,
        version: body.version ?? 'unknown',
        labels: sortedOnce(body.labels ?? []),
        executors: ['worker'],
        handlers: sortedOnce(body.handlers),
        capacity: body.capacity ?? capacityDefault,
      })
      if (outcome === 'too_many') {
        throw new ApiError('TOO_MANY_WORKERS', `The tenant has ${workersPerTenantMax} workers already.`)
      }
      workerRegistered.emit({ workerId })
      reply.code(201)
      return {
        worker_id: workerId,
        heartbeat_seconds: workerBeatMs / 1_000,
        lease_seconds: workerLeaseMs / 1_000,
      }
    },
  )

  app.delete<{ Params: { worker_id: string } }>(
    '/workers/:worker_id',
    route(tag, 'operate', 'Deregister a worker', {
      counted: 'apart',
      description:
        'Executions that it still holds are handed back without using an attempt, and run elsewhere.',
      answer: GoodbyeReply,
    }),
    async ({ tenantId, params }): Promise<GoodbyeReply> => {
      const { workerId } = await requireWorker(workers, tenantId, params.worker_id)
      // From here on no claim is begun for it.
      await leases.beat(workerId, { status: 'DRAINING', currentLoad: 0 })
      const returned = await letGo(deps, workerId)
      if (returned > 0) wakeup.send('queue')
      return { returned }
    },
  )
}

/** A claim that was under way may come in between: then the store does not forget the worker that holds something. */
async function letGo({ leases, queue }: WorkerDeps, workerId: string): Promise<number> {
  let returned = 0
  for (let tries = 1; ; tries++) {
    returned += await queue.releaseUnknown(workerId, [])
    try {
      await leases.unregister(workerId)
      return returned
    } catch (error) {
      if (tries === leaveTriesMax || error instanceof Unavailable) throw error
    }
  }
}

function sortedOnce(texts: readonly string[]): string[] {
  return [...new Set(texts)].toSorted()
}

function toItem(worker: WorkerView): WorkerList['workers'][number] {
  return {
    worker_id: worker.workerId,
    tenant_id: worker.tenantId,
    host: worker.host,
    port: worker.port,
    version: worker.version,
    labels: [...worker.labels],
    executors: [...worker.executors],
    handlers: [...worker.handlers],
    status: worker.status,
    capacity: worker.capacity,
    current_load: worker.currentLoad,
    registered_at: toRfc3339(worker.registeredAt),
    last_heartbeat: toRfc3339(worker.beatAt),
    ended_at: toRfc3339OrNull(worker.endedAt),
  }
}
