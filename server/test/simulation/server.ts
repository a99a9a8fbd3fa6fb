// One simulated server: the real scheduler, worker and upkeep, wired to loops as `wire-scheduler.ts` and
// `wire-worker.ts` do it. A restart is a new one of these: whatever the old one knew is gone with it.
import { LaneChooser } from '../../src/domain/lane.ts'
import { workerBeatMs } from '../../src/domain/worker.ts'
import { UuidV7 } from '../../src/lib/id.ts'
import { Loop, type LoopFailure, type Step } from '../../src/lib/loop.ts'
import type { WakeupTopic } from '../../src/ports/wakeup.ts'
import type { World } from '../../src/ports/world.ts'
import { fireEveryMs } from '../../src/scheduler/fire-due.ts'
import { schedulerBeatMs, shareEveryMs } from '../../src/scheduler/hold-partitions.ts'
import { findOverdueEveryMs, loadEveryMs, takeChangesEveryMs } from '../../src/scheduler/load-window.ts'
import { Scheduler } from '../../src/scheduler/scheduler.ts'
import { createLeaseWatch, reclaimEveryMs, reclaimLost } from '../../src/upkeep/reclaim-lost.ts'
import { lookForWaitingEveryMs, Releaser } from '../../src/upkeep/release-waiting.ts'
import { lookForRunsEveryMs, RunStepper } from '../../src/upkeep/step-runs.ts'
import { type AfterTimeOut, Calm, timeOutEveryMs, timeOutOverdue } from '../../src/upkeep/time-out.ts'
import { wakeEveryMs, wakeReady } from '../../src/upkeep/wake-ready.ts'
import { refreshKeysEveryMs } from '../../src/worker/call-signer.ts'
import { claimEveryMs } from '../../src/worker/claim.ts'
import { lookForCancelsEveryMs, Worker } from '../../src/worker/worker.ts'
import { SeededRandom, type VirtualWorld } from '../virtual-world.ts'
import { type Gate, GatedHttp, GatedTimers } from './gate.ts'
import type { StoredPorts } from './ports.ts'

export interface ServerDeps {
  world: VirtualWorld
  gate: Gate
  ports: StoredPorts
  seed: number
  /** Called before each HTTP call. */
  onSend: () => void
  onFailure: (failure: LoopFailure) => void
  /** Hands a hint to the other servers. */
  sendOn: (topics: readonly WakeupTopic[]) => void
}

export interface ServerOptions {
  capacity: number
  /** How many times rarer than in production the polls are that hints make up for. */
  pollFactor: number
}

// As in `wire-worker.ts`.
const tendIdleMs = 1_000
const finishIdleMs = 1_000
// As in `store/wakeup.ts`.
const coalesceMs = 20
/** Whoever looks at leases more rarely than that takes himself for one who stood still. */
const watchFactorMax = 2
// The defaults of `config/settings.ts`.
const outageMs = 300_000
const misfireAfterMs = 60_000

export class SimulatedServer {
  readonly gate: Gate
  readonly #world: World
  readonly #deps: ServerDeps
  readonly #options: ServerOptions
  readonly #listeners = new Map<WakeupTopic, () => void>()
  #hints = new Set<WakeupTopic>()

  constructor(deps: ServerDeps, options: ServerOptions) {
    const { world, gate, seed, onSend } = deps
    this.#deps = deps
    this.#options = options
    this.gate = gate
    const random = new SeededRandom(seed)
    this.#world = {
      clock: world.clock,
      timers: new GatedTimers(world.timers, gate),
      random,
      ids: new UuidV7(() => world.clock.databaseNow(), random),
      http: new GatedHttp(world.http, gate, onSend),
    }
  }

  /** Rejects when the store did not answer at the start: such a process ends, and is started again. */
  async start(): Promise<void> {
    await this.#startWorker()
    await this.#startScheduler()
  }

  /** A hint from another server. */
  hear(topics: readonly WakeupTopic[]): void {
    this.gate.pass(() => {
      for (const topic of topics) this.#listeners.get(topic)?.()
    })
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
        onTaken: () => tend.wake(),
        onFinished: ({ retries, handedBack }) => {
          claim.wake()
          this.#send('waiting')
          if (retries) this.#send('retries')
          if (handedBack) this.#send('queue')
        },
      },
      { labels: [], capacity, outageMs },
    )
    await worker.lease.beat()
    this.#startLoop('hold worker lease', workerBeatMs, () => worker.lease.beat())
    const finish = this.#startLoop('finish executions', finishIdleMs * pollFactor, () => worker.finish())
    const tend = this.#startLoop('tend executions', tendIdleMs * pollFactor, () => worker.tend())
    const claim = this.#startLoop('claim executions', claimEveryMs * pollFactor, () => worker.claim())
    const cancels = this.#startLoop('look for cancels', lookForCancelsEveryMs, () => worker.lookForCancels())
    this.#startLoop('refresh signing keys', refreshKeysEveryMs, () => worker.refreshKeys())
    this.#listeners.set('queue', () => claim.wake())
    this.#listeners.set('cancels', () => cancels.wake())
  }

  async #startScheduler(): Promise<void> {
    const { slots, partitions } = this.#deps.ports
    const { pollFactor } = this.#options
    const watchFactor = Math.min(pollFactor, watchFactorMax)
    const scheduler = new Scheduler(
      {
        ...this.#world,
        slots,
        partitions,
        lease: partitions,
        onHeld: () => load.wake(),
        onPut: () => fire.wake(),
        onEnqueued: () => this.#send('queue'),
        onOwed: () => this.#send('waiting'),
      },
      { misfireAfterMs },
    )
    const load = this.#startLoop('load window', loadEveryMs, () => scheduler.load())
    const fire = this.#startLoop('fire due slots', fireEveryMs, () => scheduler.fire())
    const changes = this.#startLoop('take changes', takeChangesEveryMs * pollFactor, () =>
      scheduler.takeChanges(),
    )
    this.#startLoop('find overdue jobs', findOverdueEveryMs, () => scheduler.findOverdue())
    await scheduler.lease.beat()
    await scheduler.lease.share()
    this.#startLoop('hold scheduler lease', schedulerBeatMs, () => scheduler.lease.beat())
    this.#startLoop('share partitions', shareEveryMs * watchFactor, () => scheduler.lease.share())
    this.#listeners.set('changes', () => changes.wake())
    this.#startUpkeep()
  }

  #startUpkeep(): void {
    const { upkeep, runSteps } = this.#deps.ports
    const { pollFactor } = this.#options
    const watchFactor = Math.min(pollFactor, watchFactorMax)
    const onReady = () => this.#send('queue')
    const onCancelled = () => this.#send('cancels')
    const lanes = new LaneChooser()
    const watch = createLeaseWatch()
    this.#startLoop('reclaim lost workers', reclaimEveryMs * watchFactor, async () => {
      const reclaimed = await reclaimLost({ clock: this.#world.clock, upkeep }, watch)
      if (reclaimed > 0) {
        onReady()
        this.#send('waiting')
      }
      return 'idle'
    })
    const retries = this.#startLoop('wake retries', wakeEveryMs * pollFactor, () =>
      wakeReady({ ...this.#world, upkeep, onReady }),
    )
    this.#listeners.set('retries', () => retries.wake())
    const releaser = new Releaser({
      ...this.#world,
      lanes,
      upkeep,
      onReady,
      onCancelled,
      onPlanned: () => this.#send('changes'),
    })
    const waiting = this.#startLoop('release what waits', lookForWaitingEveryMs * pollFactor, async () => {
      const more = await releaser.step()
      if (more !== 'idle') runs.wake()
      return more
    })
    const onWaiting = () => this.#send('waiting')
    const stepper = new RunStepper({
      ...{ ...this.#world, lanes, runSteps },
      ...{ onReady, onWaiting, onCancelled, onOver() {} },
    })
    const runs = this.#startLoop('step graph runs', lookForRunsEveryMs * pollFactor, () => stepper.step())
    this.#listeners.set('waiting', () => {
      waiting.wake()
      runs.wake()
    })
    const calm = new Calm()
    const timeOutDeps = {
      ...this.#world,
      upkeep,
      onTimedOut: ({ retries: hasRetries, running }: AfterTimeOut) => {
        this.#send('waiting')
        if (hasRetries) this.#send('retries')
        if (running) this.#send('cancels')
      },
    }
    this.#startLoop('time out what is overdue', timeOutEveryMs * watchFactor, () =>
      timeOutOverdue(timeOutDeps, calm),
    )
  }

  #startLoop(name: string, idleMs: number, step: Step): Loop {
    return new Loop(this.#world, { name, idleMs, step, onFailure: this.#deps.onFailure })
  }

  // At once within the server, a moment later to the others; any may be lost.
  #send(topic: WakeupTopic): void {
    this.#listeners.get(topic)?.()
    this.#hints.add(topic)
    if (this.#hints.size > 1) return
    this.#world.timers.schedule(coalesceMs, () => {
      const topics = [...this.#hints]
      this.#hints = new Set()
      this.#deps.sendOn(topics)
    })
  }
}
