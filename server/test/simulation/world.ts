// The simulator: several servers with the real stages in them, one store in memory, virtual targets and a virtual
// clock. Everything that happens, faults included, follows from the seed.
import { createHash, type Hash } from 'node:crypto'
import type { JobStatus } from '../../src/domain/job.ts'
import { UuidV7 } from '../../src/lib/id.ts'
import type { LoopFailure } from '../../src/lib/loop.ts'
import { Unavailable } from '../../src/lib/unavailable.ts'
import type { WakeupTopic } from '../../src/ports/wakeup.ts'
import { createMemoryStore } from '../../src/store/memory/create-memory-store.ts'
import { createVirtualWorld, SeededRandom, type VirtualWorld } from '../virtual-world.ts'
import { SimulatedApi } from './api.ts'
import type { Word } from './async-targets.ts'
import type { Change } from './changes.ts'
import { drawMs, drawWaitMs, type Fault, type FaultKind, type FaultRates, noFaults } from './faults.ts'
import { Gate } from './gate.ts'
import type { GraphDeed } from './graph-deeds.ts'
import type { GraphMember } from './graphs.ts'
import { createLink, type StoredPorts, wrapPorts } from './ports.ts'
import { SimulatedServer } from './server.ts'

export type Tables = ReturnType<typeof createMemoryStore>

export interface SimulationOptions {
  seed: number
  servers: number
  /** Where the clock starts. */
  startAt: number
  rates: FaultRates
  /** Of each worker. Default 400. */
  capacity?: number
  /** See `ServerOptions`. Default 1: as often as in production. */
  pollFactor?: number
  /** Puts itself between the servers and the store: a planted bug. */
  tamper?: (tables: Tables) => StoredPorts
  /** Whether to hash all that happens, for comparing two runs. Default false. */
  traced?: boolean
  /** Told of every store call as it is carried out or fails. */
  onEvent?: (at: number, server: string, what: string, args: unknown[]) => void
}

/** Share of hints between servers that get lost. */
const hintLostShare = 0.1
const outageMsMin = 2_000
const restartMsMin = 200

export class Simulation {
  readonly world: VirtualWorld
  readonly tables: Tables
  /** All that went wrong by our doing. */
  readonly faults: Fault[] = []
  /** What people did to jobs, in order. */
  readonly changes: Change[] = []
  /** Jobs that depend on each other, by id. */
  readonly graphs = new Map<string, GraphMember>()
  /** What people did to them and their runs, in order. */
  readonly deeds: GraphDeed[] = []
  /** What targets said of attempts that they had taken. */
  readonly words: Word[] = []
  /** Where they say it. */
  readonly api: SimulatedApi
  /** Steps that failed though nothing was wrong with the store. */
  readonly failures: LoopFailure[] = []
  /** For each entry of `world.http.sent`, the server that made the call. */
  readonly senders: string[] = []
  readonly options: SimulationOptions
  readonly #servers = new Map<string, SimulatedServer>()
  readonly #hash: Hash | null
  #rates: FaultRates = noFaults
  #random: SeededRandom
  #linkRandom: SeededRandom
  #incarnations = 0
  #away = false

  constructor(options: SimulationOptions) {
    this.options = options
    this.world = createVirtualWorld({ seed: this.seedOf('world'), startAt: options.startAt })
    this.tables = createMemoryStore(this.world.clock)
    this.#random = new SeededRandom(this.seedOf('faults'))
    this.#linkRandom = new SeededRandom(this.seedOf('link'))
    this.#hash = options.traced ? createHash('sha256') : null
    this.#rates = options.rates
    this.api = this.#openApi()
    for (let i = 0; i < options.servers; i++) this.#boot(`server-${String.fromCharCode(97 + i)}`)
    this.#plan(
      () => this.#rates.outageEveryMs,
      () => this.#goAway(),
    )
    this.#plan(
      () => this.#rates.blackoutEveryMs,
      () => this.#blackOut(),
    )
  }

  /** A stream of randomness of its own, so that one draw more here does not shift the others. */
  randomOf(name: string): SeededRandom {
    return new SeededRandom(this.seedOf(name))
  }

  seedOf(name: string): number {
    return createHash('sha256').update(`${this.options.seed} ${name}`).digest().readInt32LE()
  }

  /** Ids for whoever acts on the store from outside the servers. */
  idsOf(name: string): UuidV7 {
    return new UuidV7(() => this.world.clock.databaseNow(), this.randomOf(name))
  }

  get nowMs(): number {
    return this.world.timers.nowMs
  }

  advance(ms: number): Promise<void> {
    return this.world.advance(ms)
  }

  /** Nothing more goes wrong: the store is back, servers that stood still go on, those that crashed come back. */
  heal(): void {
    this.#rates = { ...noFaults, restartMsMax: this.#rates.restartMsMax }
    this.#away = false
    for (const server of this.#servers.values()) server.gate.release()
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
    const { jobs, live, batches, waitingJobs, runNotes, runRoots } = this.tables.store
    if (live.size + batches.size + waitingJobs.size + runNotes.size + runRoots.size > 0) return false
    return jobs.values().every(({ cursor }) => cursor.depends || isOver(cursor.status))
  }

  /** It is never down: somewhere one is up. */
  #openApi(): SimulatedApi {
    const { clock } = this.world
    const ports = this.#linkPorts('api', new Gate(this.world.timers))
    // To the server it runs in, and a moment later to the others.
    const send = (topic: WakeupTopic) => {
      const [own] = this.#servers.values()
      own?.hear([topic])
      this.#sendOn(own ?? null, [topic])
    }
    return new SimulatedApi({ clock, ports, random: this.randomOf('api decisions'), wakeup: { send } })
  }

  /** The way to the store of one of them. */
  #linkPorts(name: string, gate: Gate): StoredPorts {
    const { tamper, onEvent } = this.options
    const link = createLink({
      timers: this.world.timers,
      gate,
      random: this.#linkRandom,
      shares: () => this.#rates,
      isAway: () => this.#away,
      onFault: (kind: FaultKind, method: string) => {
        this.faults.push({ kind, server: name, fromMs: this.nowMs, toMs: this.nowMs, method })
      },
      onEvent:
        this.#hash === null && onEvent === undefined
          ? null
          : (what, args) => {
              this.#hash?.update(`${this.nowMs} ${name} ${what}\n`)
              onEvent?.(this.nowMs, name, what, args)
            },
    })
    return wrapPorts(tamper?.(this.tables) ?? this.tables, link)
  }

  #boot(name: string): void {
    const { world } = this
    const gate = new Gate(world.timers)
    const server = new SimulatedServer(
      {
        world,
        gate,
        ports: this.#linkPorts(name, gate),
        seed: this.seedOf(`${name} ${this.#incarnations++}`),
        onSend: () => void this.senders.push(name),
        onFailure: (failure) => this.#judge(failure),
        sendOn: (topics) => this.#sendOn(server, topics),
      },
      { capacity: this.options.capacity ?? 400, pollFactor: this.options.pollFactor ?? 1 },
    )
    this.#servers.set(name, server)
    const isUp = () => this.#servers.get(name) === server
    server.start().catch((error: unknown) => {
      this.#judge({ loop: 'start', error, failures: 1, retryMs: 0 })
      this.#crash(name, drawMs(this.#random, restartMsMin, this.#rates.restartMsMax))
    })
    const crash = () => this.#crash(name, drawMs(this.#random, restartMsMin, this.#rates.restartMsMax))
    this.#plan(() => this.#rates.crashEveryMs, crash, isUp)
    this.#plan(
      () => this.#rates.pauseEveryMs,
      () => this.#pause(server, name),
      isUp,
    )
  }

  /** Lets something happen again and again, for as long as `goesOn` holds. */
  #plan(everyMs: () => number | null, happen: () => void, goesOn: () => boolean = () => true): void {
    const meanMs = everyMs()
    if (meanMs === null) return
    this.world.timers.schedule(drawWaitMs(this.#random, meanMs), () => {
      if (!goesOn() || everyMs() === null) return
      happen()
      this.#plan(everyMs, happen, goesOn)
    })
  }

  #crash(name: string, downMs: number): void {
    const server = this.#servers.get(name)
    if (server === undefined) return
    server.gate.shut()
    this.#servers.delete(name)
    this.#trace(`${name} crashes`)
    this.faults.push({
      kind: 'crash',
      server: name,
      fromMs: this.nowMs,
      toMs: this.nowMs + downMs,
      method: null,
    })
    this.world.timers.schedule(downMs, () => this.#boot(name))
  }

  #pause(server: SimulatedServer, name: string): void {
    if (server.gate.state !== 'open') return
    const pauseMs = drawMs(this.#random, 100, this.#rates.pauseMsMax)
    server.gate.hold()
    this.#trace(`${name} stands still`)
    this.faults.push({
      kind: 'pause',
      server: name,
      fromMs: this.nowMs,
      toMs: this.nowMs + pauseMs,
      method: null,
    })
    this.world.timers.schedule(pauseMs, () => server.gate.release())
  }

  #goAway(): void {
    const awayMs = drawMs(this.#random, outageMsMin, this.#rates.outageMsMax)
    this.#away = true
    this.#trace('the store goes away')
    this.faults.push({
      kind: 'outage',
      server: null,
      fromMs: this.nowMs,
      toMs: this.nowMs + awayMs,
      method: null,
    })
    this.world.timers.schedule(awayMs, () => {
      this.#away = false
    })
  }

  #blackOut(): void {
    const downMs = drawMs(this.#random, restartMsMin, this.#rates.blackoutMsMax)
    for (const name of [...this.#servers.keys()]) this.#crash(name, downMs + drawMs(this.#random, 0, 5_000))
  }

  #sendOn(from: SimulatedServer | null, topics: readonly WakeupTopic[]): void {
    if (this.#away) return
    for (const server of this.#servers.values()) {
      if (server === from || this.#linkRandom.next() < hintLostShare) continue
      this.world.timers.schedule(drawMs(this.#linkRandom, 1, 20), () => server.hear(topics))
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
