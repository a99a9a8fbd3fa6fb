// A claimer on a memory store that answers when a test says so: for tests of claims beside a pass of the claim loop.
import { sharedLane } from '../src/domain/queue/lane.ts'
import { serverRoute } from '../src/domain/queue/route.ts'
import type { DirectWorker } from '../src/ports/direct-dispatch.ts'
import type { NewJob } from '../src/ports/jobs.ts'
import type { Claimed, ClaimOrder } from '../src/ports/queue.ts'
import { CallSigner } from '../src/worker/call-signer.ts'
import { Claimer } from '../src/worker/claim.ts'
import { Definitions } from '../src/worker/definitions.ts'
import { InFlight } from '../src/worker/in-flight.ts'
import { TenantLimits } from '../src/worker/tenant-limits.ts'
import { openMemoryStore } from '../testing/memory-store/open-memory-store.ts'
import { createScenario } from './conformance/scenario.ts'
import { createVirtualWorld } from './virtual-world.ts'

export const herd = 'the lane of a herd'

/** Answers to claims, and to releases of unknown claims, wait where a test holds them. */
export async function setupClaimer({ capacity = 800 } = {}) {
  const world = createVirtualWorld()
  const { store: _, ...ports } = openMemoryStore(world.clock)
  const now = async () => world.clock.databaseNow()
  const s = await createScenario({ ...ports, ids: world.ids, now })
  const { queue } = ports
  const orders: ClaimOrder[] = []
  /** The executions in flight at each release of unknown claims. */
  const known: string[][] = []
  const heldClaims: { lane: string; answer: PromiseWithResolvers<void> }[] = []
  let release: Promise<void> = Promise.resolve()
  let look: Promise<void> = Promise.resolve()
  const claim = queue.claim.bind(queue)
  queue.claim = async (order): Promise<Claimed> => {
    if (order.singles !== true) orders.push(order)
    const claimed = await claim(order)
    const isHeld = ({ lane }: { lane: string }) => order.lanes.some((one) => one.lane === lane)
    if (order.singles !== true) await heldClaims.find(isHeld)?.answer.promise
    return claimed
  }
  const waiting = queue.waiting.bind(queue)
  queue.waiting = async (...args) => {
    const found = await waiting(...args)
    await look
    return found
  }
  const releaseUnknown = queue.releaseUnknown.bind(queue)
  queue.releaseUnknown = async (id, ids) => {
    await release
    known.push(ids.toSorted())
    return releaseUnknown(id, ids)
  }
  const inFlight = new InFlight(
    {
      clock: world.clock,
      run: () => new Promise(() => {}),
      mayStart: () => true,
      onBatchEnded() {},
      onLiveEnded() {},
    },
    { capacity },
  )
  let workerId: string | null = await s.addWorker()
  const { peers } = ports
  const measure = peers.measure.bind(peers)
  let measures = 0
  peers.measure = (...args) => {
    measures += 1
    return measure(...args)
  }
  const calls = { isDraining: false, onClaimed: 0, onClaimDue: 0 }
  const definitions = new Definitions(queue, '1.2.3')
  const prune = definitions.prune.bind(definitions)
  let prunes = 0
  definitions.prune = () => {
    prunes += 1
    prune()
  }
  const claimer = new Claimer({
    clock: world.clock,
    queue,
    peers,
    graphRuns: ports.graphRuns,
    inFlight,
    definitions,
    signer: new CallSigner(ports.secrets),
    tenantLimits: new TenantLimits({ clock: world.clock, ...ports }),
    routes: async () => [serverRoute],
    isIsolated: false,
    workerId: () => workerId,
    isBackpressured: () => false,
    isDraining: () => calls.isDraining,
    onClaimed() {
      calls.onClaimed += 1
    },
    onClaimDue() {
      calls.onClaimDue += 1
    },
  })
  async function fire(count: number, lane: string): Promise<string[]> {
    const jobs: NewJob[] = []
    for (let i = 0; i < count; i++) jobs.push(await s.createJob())
    return (await s.fireBatch(jobs, 0, { lane })).executionIds.toSorted()
  }
  /** Triggers a new job up to the commit, as the API does. */
  async function triggerFor(worker: DirectWorker, changes: Partial<NewJob> = {}): Promise<Claimed> {
    const { tenantId, jobId } = await s.createJob(changes)
    const { workerId, route } = worker
    const order = { tenantId, jobId, executionId: s.ids.next(), lane: sharedLane }
    const outcome = await s.jobs.trigger({ ...order, direct: { workerId, route } })
    const claimed = outcome.kind === 'triggered' ? outcome.claimed : null
    return { batches: [], live: claimed === null ? [] : [claimed] }
  }
  return {
    ...{ s, inFlight, triggerFor, claimer, orders, known, fire, calls },
    prunes: () => prunes,
    /** How often the load of peers was measured. */
    measures: () => measures,
    inFlightIds: () => [...inFlight.executions()].map(({ executionId }) => executionId).toSorted(),
    /** The answers to claims of this lane wait until the returned promise is resolved. */
    holdClaims(lane: string): PromiseWithResolvers<void> {
      const answer = Promise.withResolvers<void>()
      heldClaims.push({ lane, answer })
      return answer
    },
    /** No claim is held any more. */
    letGo: () => void heldClaims.splice(0),
    /** The answer to a look for lanes comes when the returned function is called. */
    holdLook(): () => void {
      const gate = Promise.withResolvers<void>()
      look = gate.promise
      return gate.resolve
    },
    holdRelease(): () => void {
      const gate = Promise.withResolvers<void>()
      release = gate.promise
      return gate.resolve
    },
    setWorker(id: string | null) {
      workerId = id
    },
    drain() {
      calls.isDraining = true
    },
    settle: () => world.advance(0),
    advance: (ms: number) => world.advance(ms),
  }
}
