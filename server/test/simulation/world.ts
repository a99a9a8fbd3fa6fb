// The simulator: several servers with the real stages in them, one store in memory, virtual targets and a virtual
// clock. Everything that happens, faults included, follows from the seed.
import { createHash, type Hash } from 'node:crypto'
import type { JobStatus } from '../../src/domain/jobs/job.ts'
import { UuidV7 } from '../../src/lib/id.ts'
import type { LoopFailure } from '../../src/lib/loop.ts'
import { Unavailable } from '../../src/lib/unavailable.ts'
import type { Random } from '../../src/ports/random.ts'
import type { StorePorts } from '../../src/ports/store.ts'
import type { WakeupTopic } from '../../src/ports/wakeup.ts'
import { openMemoryStore } from '../../testing/memory-store/open-memory-store.ts'
import { createVirtualWorld, SeededRandom, type VirtualWorld } from '../virtual-world.ts'
import { SimulatedApi } from './api.ts'
import type { Word } from './async-targets.ts'
import type { Change } from './changes.ts'
import { drawMs, type Fault, type FaultRates, noFaults } from './faults.ts'
import { Gate } from './gate.ts'
import type { GraphDeed } from './graph-deeds.ts'
import type { GraphMember } from './graphs.ts'
import { createLink, type LinkDeps, type Way } from './link.ts'
import type { Order } from './orders.ts'
import { type Caller, wrapPorts } from './ports.ts'
import { type ServerRole, SimulatedServer } from './server.ts'
import { createClockQueries, type HostClock } from './server-clock.ts'
import { type Running, Trouble } from './trouble.ts'

export type Tables = ReturnType<typeof openMemoryStore>

export interface SimulationOptions {
  seed: number
  /** How many with both roles; or the roles of each. */
  servers: number | readonly (readonly ServerRole[])[]
  /** Where the clock starts. */
  startAt: number
  rates: FaultRates
  /** Of each worker. Default 400. */
  capacity?: number
  /** See `ServerOptions`. Default 1: as often as in production. */
  pollFactor?: number
  /** See `DrawnOptions`. Default 0. */
  driftMax?: number
  /** Puts itself between the servers and the store: a planted bug. */
  tamper?: (tables: Tables) => StorePorts
  /** Whether to hash all that happens, for comparing two runs. Default false. */
  traced?: boolean
  /** Told of every store call as it is carried out or fails. */
  onEvent?: (at: number, server: string, what: string, args: unknown[]) => void
  /** Receives the result of each call that was carried out. */
  onDone?: LinkDeps['onDone']
}

const hintLateMsMax = 8_000

/** The sender of a call, and its time by the sender's own clock. */
export interface Sender {
  server: string
  saidAt: number
}

export class Simulation {
  readonly world: VirtualWorld
  readonly tables: Tables
  /** All that went wrong by our doing. */
  readonly faults: Fault[] = []
  /** The changes that people made to jobs, in order. */
  readonly changes: Change[] = []
  /** Jobs that depend on each other, by id. */
  readonly graphs = new Map<string, GraphMember>()
  /** The actions of people on graphs and their runs, in order. */
  readonly deeds: GraphDeed[] = []
  /** The reports of targets on attempts that they had accepted. */
  readonly words: Word[] = []
  /** The requests made by hand. */
  readonly orders: Order[] = []
  /** Where they say it. */
  readonly api: SimulatedApi
  /** Steps that failed though nothing was wrong with the store. */
  readonly failures: LoopFailure[] = []
  /** For each entry of `world.http.sent`. */
  readonly senders: Sender[] = []
  /** How often each event was met. */
  readonly met = new Map<string, number>()
  readonly options: SimulationOptions
  readonly trouble: Trouble
  readonly #servers = new Map<string, Running>()
  readonly #roles = new Map<string, readonly ServerRole[]>()
  readonly #hosts = new Map<string, HostClock>()
  readonly #hash: Hash | null
  readonly #linkRandom: SeededRandom
  #incarnations = 0

  constructor(options: SimulationOptions) {
    this.options = options
    this.world = createVirtualWorld({ seed: this.seedOf('world'), startAt: options.startAt })
    this.tables = openMemoryStore(this.world.clock)
    this.#linkRandom = new SeededRandom(this.seedOf('link'))
    this.#hash = options.traced ? createHash('sha256') : null
    this.trouble = new Trouble(
      {
        world: this.world,
        random: this.randomOf('faults'),
        servers: this.#servers,
        boot: (name) => this.#boot(name),
        note: (fault) => void this.faults.push(fault),
        trace: (what) => this.#trace(what),
        meet: (what) => this.meet(what),
      },
      options.rates,
    )
    this.api = this.#openApi()
    this.#drawServers()
    for (const name of this.#roles.keys()) this.#boot(name)
    this.trouble.planAll()
  }

  /** A stream of randomness of its own, so that one draw more here does not shift the others. */
  randomOf(name: string): SeededRandom {
    return new SeededRandom(this.seedOf(name))
  }

  seedOf(name: string): number {
    return createHash('sha256').update(`${this.options.seed} ${name}`).digest().readInt32LE()
  }

  /** Ids for actors on the store from outside the servers. */
  idsOf(name: string): UuidV7 {
    return new UuidV7(() => this.world.clock.databaseNow(), this.randomOf(name))
  }

  get nowMs(): number {
    return this.world.timers.nowMs
  }

  /** A server that is up; null: none is. */
  anyServer(random: Random): SimulatedServer | null {
    const running = [...this.#servers.values()]
    return running[Math.floor(random.next() * running.length)]?.server ?? null
  }

  /** A server dies, for so long. */
  crash(name: string, downMs: number): void {
    this.trouble.crash(this.#servers.get(name)!, downMs)
  }

  meet(what: string, times = 1): void {
    this.met.set(what, (this.met.get(what) ?? 0) + times)
  }

  advance(ms: number): Promise<void> {
    return this.world.advance(ms)
  }

  /** Nothing more goes wrong: the store is back, frozen servers go on, crashed ones come back. */
  heal(): void {
    this.trouble.end(noFaults)
  }

  /** Advances until nothing is under way any more and no slot is left to fire. False: not within the time. */
  async drain(msMax: number): Promise<boolean> {
    const untilMs = this.nowMs + msMax
    while (!this.#isDone()) {
      if (this.nowMs >= untilMs) return false
      await this.advance(10_000)
    }
    return true
  }

  /** Of all that happened up to now. */
  traceHash(): string {
    for (const { at, request } of this.world.http.sent) {
      this.#hash!.update(`${at} ${request.headers['x-execution-id']} ${request.headers['traceparent']}\n`)
    }
    return this.#hash!.digest('hex')
  }

  #isDone(): boolean {
    const { jobs, live, batches, waitingJobs, runNotes, runRoots, operations } = this.tables.store
    if (live.size + batches.size + waitingJobs.size + runNotes.size + runRoots.size > 0) return false
    if (operations.values().some(({ nextAt }) => nextAt !== null)) return false
    return jobs.values().every(({ cursor }) => cursor.depends || isOver(cursor.status))
  }

  #drawServers(): void {
    const { servers, driftMax = 0 } = this.options
    const both: readonly ServerRole[] = ['scheduler', 'worker']
    const roles = typeof servers === 'number' ? new Array(servers).fill(both) : servers
    const random = this.randomOf('hosts')
    for (const [index, own] of roles.entries()) {
      const name = `server-${String.fromCharCode(97 + index)}`
      this.#roles.set(name, own)
      const rate = 1 + driftMax * (2 * random.next() - 1)
      this.#hosts.set(name, { originMs: driftMax === 0 ? 0 : random.next() * 1e9, rate })
    }
  }

  /** It is never down: somewhere one is up. */
  #openApi(): SimulatedApi {
    const { clock } = this.world
    const way: Way = { cut: null, slowMs: 0 }
    const link = this.#createLink('api', new Gate(this.world.timers), way, () => {})
    // To the server it runs in, and a moment later to the others.
    const send = (topic: WakeupTopic) => {
      const own = this.#servers.values().next().value?.server
      own?.hear([topic])
      this.#sendOn(own ?? null, [topic])
    }
    const ports = this.#wrap(link)
    const tierOf = (tenantId: string) => this.tables.store.tierOf(tenantId)
    const random = this.randomOf('api decisions')
    return new SimulatedApi({ clock, ports, random, wakeup: { send }, tierOf })
  }

  #wrap(link: Caller): StorePorts {
    return wrapPorts(this.options.tamper?.(this.tables) ?? this.tables, link)
  }

  /** The connection of a single server to the store. */
  #createLink(name: string, gate: Gate, way: Way, onBreak: () => void): Caller {
    const { onEvent, onDone = null } = this.options
    return createLink({
      timers: this.world.timers,
      gate,
      way,
      random: this.#linkRandom,
      rates: () => this.trouble.rates,
      isAway: () => this.trouble.isAway,
      onBreak,
      onFault: (fault) => void this.faults.push({ ...fault, server: name }),
      onEvent:
        this.#hash === null && onEvent === undefined
          ? null
          : (what, args) => {
              this.#hash?.update(`${this.nowMs} ${name} ${what}\n`)
              onEvent?.(this.nowMs, name, what, args)
            },
      onDone,
    })
  }

  #boot(name: string): void {
    const { world } = this
    const { capacity = 400, pollFactor = 1 } = this.options
    const gate = new Gate(world.timers)
    const way: Way = { cut: null, slowMs: 0 }
    const link = this.#createLink(name, gate, way, () => this.trouble.break(running))
    const server = new SimulatedServer(
      {
        world,
        gate,
        ports: this.#wrap(link),
        clockQueries: createClockQueries(world, link),
        seed: this.seedOf(`${name} ${this.#incarnations++}`),
        onSend: (saidAt) => void this.senders.push({ server: name, saidAt }),
        onFailure: (failure) => this.#judge(failure),
        sendOn: (topics) => this.#sendOn(server, topics),
      },
      { roles: this.#roles.get(name)!, capacity, pollFactor, host: this.#hosts.get(name)! },
    )
    const running: Running = { name, server, way }
    this.#servers.set(name, running)
    this.#trace(`${name} starts`)
    server.start().catch((error: unknown) => {
      this.#judge({ loop: 'start', error, failures: 1, retryMs: 0 })
      this.trouble.crash(running)
    })
    this.trouble.planFor(running)
  }

  #sendOn(from: SimulatedServer | null, topics: readonly WakeupTopic[]): void {
    if (this.trouble.isAway) return
    const random = this.#linkRandom
    const { hintLostShare, hintLateShare, hintTwiceShare } = this.trouble.rates
    for (const { server } of this.#servers.values()) {
      if (server === from || random.next() < hintLostShare) continue
      const times = hintTwiceShare > 0 && random.next() < hintTwiceShare ? 2 : 1
      for (let i = 0; i < times; i++) {
        const isLate = hintLateShare > 0 && random.next() < hintLateShare
        this.world.timers.schedule(drawMs(random, 1, isLate ? hintLateMsMax : 20), () => server.hear(topics))
      }
    }
  }

  // Expected: the store is away, or our lease is gone and the store says so as a foreign key would.
  #judge(failure: LoopFailure): void {
    const { error } = failure
    if (error instanceof Unavailable) return
    if (error instanceof Error && /has no lease$|has not joined$/.test(error.message)) return
    this.failures.push(failure)
  }

  #trace(what: string): void {
    this.#hash?.update(`${this.nowMs} ${what}\n`)
    this.options.onEvent?.(this.nowMs, '', what, [])
  }
}

function isOver(status: JobStatus): boolean {
  return status === 'COMPLETED' || status === 'DELETED'
}
