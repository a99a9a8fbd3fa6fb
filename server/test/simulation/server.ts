// One simulated server: the real clock, scheduler, worker and maintenance, wired to loops as `wire.ts`, `wire-scheduler.ts`
// and `wire-worker.ts` do it. A restart is a new one of these: whatever the old one knew is gone with it.
import { triggerNow } from '../../src/api/jobs/trigger-now.ts'
import { workerBeatMs } from '../../src/domain/queue/worker.ts'
import { UuidV7 } from '../../src/lib/id.ts'
import { Loop, type LoopFailure, type Step } from '../../src/lib/loop.ts'
import type { DatabaseClock } from '../../src/lib/time/clock.ts'
import { withDeadline } from '../../src/lib/time/deadline.ts'
import type { TriggerOrder, TriggerOutcome } from '../../src/ports/jobs.ts'
import type { WakeupTopic } from '../../src/ports/wakeup.ts'
import type { World } from '../../src/ports/world.ts'
import { clockSyncMs, startClock, syncClock } from '../../src/postgres/connection/clock-sync.ts'
import type { Queries } from '../../src/postgres/connection/database.ts'
import { loadEveryMs, recoverOverdueEveryMs, takeChangesEveryMs } from '../../src/scheduler/fill-window.ts'
import { fireEveryMs, firesAtOnce } from '../../src/scheduler/fire-due.ts'
import { schedulerBeatMs, shareEveryMs } from '../../src/scheduler/hold-partitions.ts'
import { Scheduler } from '../../src/scheduler/scheduler.ts'
import { refreshKeysEveryMs } from '../../src/worker/call-signer.ts'
import { claimEveryMs } from '../../src/worker/claim.ts'
import { pollCancellationsEveryMs, Worker } from '../../src/worker/worker.ts'
import { SeededRandom, type VirtualWorld } from '../virtual-world.ts'
import { type Gate, GatedHttp, GatedTimers } from './gate.ts'
import type { PostgresPorts } from './ports.ts'
import { createServerClock, type HostClock, HostTimers } from './server-clock.ts'
import { startBackgroundWork, startMaintenance } from './server-maintenance.ts'

export type ServerRole = 'scheduler' | 'worker'

export interface ServerDeps {
  world: VirtualWorld
  gate: Gate
  ports: PostgresPorts
  /** Where the database's clock is read. */
  clockQueries: Queries
  seed: number
  /** Called before each HTTP call, with what the server takes for the database's time. */
  onSend: (saidAt: number) => void
  onFailure: (failure: LoopFailure) => void
  /** Hands a hint to the other servers. */
  sendOn: (topics: readonly WakeupTopic[]) => void
}

export interface ServerOptions {
  roles: readonly ServerRole[]
  capacity: number
  /** How many times rarer than in production the polls are that hints make up for. */
  pollFactor: number
  host: HostClock
}

/** What roles are wired with. */
export interface RoleDeps {
  world: World
  ports: PostgresPorts
  pollFactor: number
  /** As `pollFactor`, for whoever watches leases. */
  watchFactor: number
  isStopping: () => boolean
  startLoop: (name: string, idleMs: number, step: Step) => Loop
  send: (topic: WakeupTopic) => void
  on: (topic: WakeupTopic, listener: () => void) => void
}

// As in `wire.ts` and `wire-worker.ts`.
const tendIdleMs = 1_000
const finishIdleMs = 1_000
const drainLookMs = 10
const shutdownMsMax = 500
// As in `postgres/connection/wakeup.ts`.
const coalesceMs = 20
/** Whoever looks at leases more rarely than that takes himself for one who stood still. */
const watchFactorMax = 2
// The defaults of `config/settings.ts`.
const outageMs = 60_000
const misfireAfterMs = 60_000

export class SimulatedServer {
  readonly gate: Gate
  readonly #clock: DatabaseClock
  readonly #world: World
  readonly #deps: ServerDeps
  readonly #options: ServerOptions
  readonly #role: RoleDeps
  readonly #loops: Loop[] = []
  readonly #listeners = new Map<WakeupTopic, (() => void)[]>()
  #hints = new Set<WakeupTopic>()
  #worker: Worker | null = null
  #scheduler: Scheduler | null = null
  #stopping = false

  constructor(deps: ServerDeps, options: ServerOptions) {
    const { world, gate, seed, onSend } = deps
    this.#deps = deps
    this.#options = options
    this.gate = gate
    const random = new SeededRandom(seed)
    const clock = createServerClock(world.timers, options.host)
    this.#clock = clock
    this.#world = {
      clock,
      timers: new HostTimers(new GatedTimers(world.timers, gate), options.host),
      random,
      ids: new UuidV7(() => clock.databaseNow(), random),
      http: new GatedHttp(world.http, gate, () => onSend(clock.databaseNow())),
    }
    const { pollFactor } = options
    this.#role = {
      world: this.#world,
      ports: deps.ports,
      pollFactor,
      watchFactor: Math.min(pollFactor, watchFactorMax),
      isStopping: () => this.#stopping,
      startLoop: (name, idleMs, step) => this.#startLoop(name, idleMs, step),
      send: (topic) => this.#send(topic),
      on: (topic, listener) => this.#on(topic, listener),
    }
  }

  /** Rejects when the store did not answer at the start: such a process ends, and is started again. */
  async start(): Promise<void> {
    const { roles } = this.#options
    const { clockQueries } = this.#deps
    await startClock(clockQueries, this.#clock)
    this.#startLoop('sync clock', clockSyncMs, () => syncClock(clockQueries, this.#clock))
    if (roles.includes('worker')) await this.#startWorker()
    if (roles.includes('scheduler')) await this.#startScheduler()
  }

  /** By the book: takes nothing more, lets what runs end within the time, hands back what is left. Says if nothing was. */
  async stop(drainMs: number): Promise<'idle' | 'cut short'> {
    const { timers, clock } = this.#world
    const worker = this.#worker
    this.#stopping = true
    const untilMs = clock.monotonicMs() + drainMs
    await worker?.drain().catch(() => {})
    while (worker !== null && !worker.isIdle && clock.monotonicMs() < untilMs) await timers.wait(drainLookMs)
    const wasIdle = worker?.isIdle ?? true
    const farewell = (said: Promise<unknown>) =>
      withDeadline(
        timers,
        shutdownMsMax,
        said.catch(() => {}),
      )
    await withDeadline(timers, 2 * shutdownMsMax, this.#endLoops())
    if (this.#scheduler !== null) await farewell(this.#scheduler.lease.leave())
    if (worker !== null) await farewell(worker.release())
    return wasIdle ? 'idle' : 'cut short'
  }

  /** As by a request without a key: its worker may take it with the commit. */
  trigger(order: TriggerOrder): Promise<TriggerOutcome> {
    const direct = this.#worker?.directDispatch
    return triggerNow({ jobs: this.#deps.ports.jobs, ...(direct && { direct }) }, order)
  }

  /** A hint from another server. */
  hear(topics: readonly WakeupTopic[]): void {
    this.gate.pass(() => {
      for (const topic of topics) this.#wake(topic)
    })
  }

  async #endLoops(): Promise<void> {
    for (const loop of this.#loops.toReversed()) await loop[Symbol.asyncDispose]()
  }

  async #startWorker(): Promise<void> {
    const { queue, attempts, logs, secrets, leases, graphRuns } = this.#deps.ports
    const { capacity, pollFactor } = this.#options
    const worker = new Worker(
      {
        ...this.#world,
        version: '1.0.0',
        publicUrl: () => 'https://carillon.example',
        queue,
        graphRuns,
        attempts,
        logs,
        secrets,
        leases,
        onEnded: () => finish.wake(),
        onClaimed: () => expireBatches.wake(),
        onClaimDue: () => claim.wake(),
        onFinished: ({ retries, handedBack }) => {
          claim.wake()
          this.#send('waiting')
          if (retries) this.#send('retries')
          if (handedBack) this.#send('queue')
        },
      },
      { labels: [], capacity, outageMs },
    )
    this.#worker = worker
    await worker.lease.beat()
    this.#startLoop('hold worker lease', workerBeatMs, () => worker.lease.beat())
    const finish = this.#startLoop('finish executions', finishIdleMs * pollFactor, () => worker.finish())
    const expireBatches = this.#startLoop('expire batches', tendIdleMs * pollFactor, () =>
      worker.expireBatches(),
    )
    const claim = this.#startLoop('claim executions', claimEveryMs * pollFactor, () => worker.claim())
    const cancels = this.#startLoop('poll cancellations', pollCancellationsEveryMs, () =>
      worker.pollCancellations(),
    )
    this.#startLoop('refresh signing keys', refreshKeysEveryMs, () => worker.refreshKeys())
    const beside = this.#startLoop('claim shared lane', claimEveryMs * pollFactor, () =>
      worker.claimSharedLane(),
    )
    this.#on('queue', () => claim.wake())
    this.#on('shared', () => {
      if (worker.isClaiming) beside.wake()
    })
    this.#on('cancels', () => cancels.wake())
  }

  async #startScheduler(): Promise<void> {
    const { slots, partitions } = this.#deps.ports
    const { pollFactor, watchFactor } = this.#role
    const scheduler = new Scheduler(
      {
        ...this.#world,
        slots,
        directDispatch: this.#worker?.directDispatch ?? null,
        partitions,
        lease: partitions,
        onHeld: () => load.wake(),
        onPut: () => {
          for (const fire of fires) fire.wake()
        },
        onEnqueued: (isShared) => {
          this.#send('queue')
          if (isShared) this.#send('shared')
        },
        onOwed: () => this.#send('waiting'),
      },
      { misfireAfterMs },
    )
    this.#scheduler = scheduler
    const load = this.#startLoop('load window', loadEveryMs, () => scheduler.load())
    const fires = Array.from({ length: firesAtOnce }, () =>
      this.#startLoop('fire due slots', fireEveryMs, () => scheduler.fire()),
    )
    const changes = this.#startLoop('take changes', takeChangesEveryMs * pollFactor, () =>
      scheduler.takeChanges(),
    )
    this.#startLoop('find overdue jobs', recoverOverdueEveryMs, () => scheduler.recoverOverdue())
    await scheduler.lease.beat()
    await scheduler.lease.share()
    this.#startLoop('hold scheduler lease', schedulerBeatMs, () => scheduler.lease.beat())
    this.#startLoop('share partitions', shareEveryMs * watchFactor, () => scheduler.lease.share())
    this.#on('changes', () => changes.wake())
    startMaintenance(this.#role)
    startBackgroundWork(this.#role)
  }

  #startLoop(name: string, idleMs: number, step: Step): Loop {
    const loop = new Loop(this.#world, { name, idleMs, step, onFailure: this.#deps.onFailure })
    this.#loops.push(loop)
    return loop
  }

  #on(topic: WakeupTopic, listener: () => void): void {
    this.#listeners.set(topic, [...(this.#listeners.get(topic) ?? []), listener])
  }

  #wake(topic: WakeupTopic): void {
    for (const listener of this.#listeners.get(topic) ?? []) listener()
  }

  // At once within the server, a moment later to the others; any may be lost.
  #send(topic: WakeupTopic): void {
    this.#wake(topic)
    this.#hints.add(topic)
    if (this.#hints.size > 1) return
    this.#world.timers.schedule(coalesceMs, () => {
      const topics = [...this.#hints]
      this.#hints = new Set()
      this.#deps.sendOn(topics)
    })
  }
}
