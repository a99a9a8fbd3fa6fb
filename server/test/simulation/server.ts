// One simulated server: the roles of the real one, started by the same wiring, on the store in memory behind a faulty
// link, on virtual timers and on a clock of its own. A restart is a new one of these and remembers nothing.
import { triggerNow } from '../../src/api/jobs/trigger-now.ts'
import { UuidV7 } from '../../src/lib/id.ts'
import type { LoopFailure, Step } from '../../src/lib/loop.ts'
import { retryUntilAvailable } from '../../src/lib/retry-until-available.ts'
import type { DatabaseClock } from '../../src/lib/time/clock.ts'
import type { TriggerOrder, TriggerOutcome } from '../../src/ports/jobs.ts'
import type { StorePorts } from '../../src/ports/store.ts'
import type { WakeupTopic } from '../../src/ports/wakeup.ts'
import type { World } from '../../src/ports/world.ts'
import { startClock, syncClock } from '../../src/postgres/connection/clock-sync.ts'
import { CoalescingWakeup } from '../../src/postgres/connection/coalescing-wakeup.ts'
import type { Queries } from '../../src/postgres/connection/database.ts'
import { createLoopStarter, LOOPS, type LoopName, type StartLoop } from '../../src/wiring/loops.ts'
import { type RunningRoles, startRoles } from '../../src/wiring/roles.ts'
import { SeededRandom, type VirtualWorld } from '../virtual-world.ts'
import { type Gate, GatedHttp, GatedTimers } from './gate.ts'
import { createServerClock, type HostClock, HostTimers } from './server-clock.ts'

export type ServerRole = 'scheduler' | 'worker'

export interface ServerDeps {
  world: VirtualWorld
  gate: Gate
  ports: StorePorts
  /** Where the database's clock is read. */
  clockQueries: Queries
  seed: number
  /** Called before each HTTP call, with the database's time as this server knows it. */
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

/** The polls that hints make up for. */
const POLLS: readonly LoopName[] = [
  'finish executions',
  'expire batches',
  'claim executions',
  'claim shared lane',
  'take changes',
  'wake retries',
  'release waiting',
  'let held back go',
  'refresh budgets',
  'step graph runs',
  'resume paused jobs',
]
/** A server that looks at leases and deadlines even more rarely takes itself for one that stood still. */
const WATCHES: readonly LoopName[] = ['share partitions', 'reclaim lost workers', 'time out overdue']
const watchFactorMax = 2
/** Loops whose steps ask for waits of their own: as rare as the polls. */
const ASKING: readonly LoopName[] = ['release waiting', 'run operations']

/** The defaults of `config/settings.ts`. */
const config = { outageMs: 60_000, misfireAfterMs: 60_000 }

export class SimulatedServer {
  readonly gate: Gate
  readonly #clock: DatabaseClock
  readonly #world: World
  readonly #deps: ServerDeps
  readonly #options: ServerOptions
  readonly #wakeup: CoalescingWakeup
  readonly #resources = new AsyncDisposableStack()
  #started: Promise<void> = Promise.resolve()
  #running: RunningRoles | null = null

  constructor(deps: ServerDeps, options: ServerOptions) {
    const { world, gate, seed, onSend, sendOn } = deps
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
    this.#wakeup = this.#resources.use(
      new CoalescingWakeup(this.#world.timers, async (topics) => sendOn(topics)),
    )
  }

  /** Rejects when the store did not answer for long at the start: such a process ends, and is started again. */
  start(): Promise<void> {
    this.#started = this.#start()
    return this.#started
  }

  async #start(): Promise<void> {
    const { clockQueries, ports } = this.#deps
    const { roles, capacity } = this.#options
    const startLoop = this.#createLoopStarter()
    await retryUntilAvailable(this.#world, () => startClock(clockQueries, this.#clock))
    startLoop('sync clock', () => syncClock(clockQueries, this.#clock))
    const deps = {
      config,
      startLoop,
      world: this.#world,
      store: ports,
      leaseStore: ports,
      wakeup: this.#wakeup,
      port: null,
      publicUrl: () => 'https://carillon.example',
      resources: this.#resources,
    }
    this.#running = await startRoles(deps, {
      roles,
      createAssignment: () => ({ kind: 'http', executors: {}, capacity }),
    })
  }

  /**
   * By the book: claims no more, lets running attempts end within the time, hands back the rest; says if none was left.
   * A stop in the middle of the start comes after it, as in a real process.
   */
  async stop(drainMs: number): Promise<'idle' | 'cut short'> {
    await this.#started.catch(() => {})
    const close = () => this.#resources.disposeAsync()
    if (this.#running !== null) return this.#running.stop(drainMs, close)
    await close()
    return 'idle'
  }

  /** As by a request without a key: its worker may claim it with the commit. */
  trigger(order: TriggerOrder): Promise<TriggerOutcome> {
    const direct = this.#running?.directDispatch
    return triggerNow({ jobs: this.#deps.ports.jobs, ...(direct && { direct }) }, order)
  }

  /** A hint from another server. */
  hear(topics: readonly WakeupTopic[]): void {
    this.gate.pass(() => this.#wakeup.hear(topics))
  }

  #createLoopStarter(): StartLoop {
    const { pollFactor } = this.#options
    const specs = structuredClone(LOOPS) as Parameters<typeof createLoopStarter>[1] & object
    for (const name of POLLS) specs[name].everyMs *= pollFactor
    for (const name of WATCHES) specs[name].everyMs *= Math.min(pollFactor, watchFactorMax)
    const { onFailure } = this.#deps
    const deps = { world: this.#world, wakeup: this.#wakeup, resources: this.#resources, onFailure }
    const start = createLoopStarter(deps, specs)
    const rarer =
      (step: Step): Step =>
      async (signal) => {
        const more = await step(signal)
        return typeof more === 'number' ? more * pollFactor : more
      }
    return (name, step, options) => start(name, ASKING.includes(name) ? rarer(step) : step, options)
  }
}
