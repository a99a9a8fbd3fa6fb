// The faults of servers and of the store from time to time: crashes, pauses, cuts, slow periods, orderly stops,
// outages, steps of the store's clock. Each is recorded with its time: the checker wants an explanation for its
// findings.
import type { Random } from '../../src/ports/random.ts'
import type { VirtualWorld } from '../virtual-world.ts'
import { drawMs, drawWaitMs, type Fault, type FaultRates, slowCallMsMax } from './faults.ts'
import type { Way } from './link.ts'
import type { SimulatedServer } from './server.ts'

/** A server that is up. */
export interface Running {
  name: string
  server: SimulatedServer
  way: Way
}

export interface TroubleDeps {
  world: VirtualWorld
  random: Random
  servers: Map<string, Running>
  boot: (name: string) => void
  note: (fault: Fault) => void
  trace: (what: string) => void
  /** Called for each event worth counting. */
  meet: (what: string) => void
}

const outageMsMin = 2_000
const restartMsMin = 200
const cutMsMin = 500
const slowMsMin = 5_000
/** The time that a stopping server gives its running executions. */
const drainMsMax = 30_000
const stepForwardMsMax = 5_000
const stepBackMsMax = 300
/** A fault of this method explains no call: nothing may be lost or doubled for it. */
const byTheBook = 'by the book'

export class Trouble {
  rates: FaultRates
  isAway = false
  /** By how much the store's clock went back, in all. */
  backMs = 0
  readonly #deps: TroubleDeps
  /** Told to stop, which a process is told once. */
  readonly #stopping = new WeakSet<Running>()

  constructor(deps: TroubleDeps, rates: FaultRates) {
    this.#deps = deps
    this.rates = rates
  }

  /** Of the store, and of all servers at once. */
  planAll(): void {
    this.#plan('outageEveryMs', () => this.#goAway())
    this.#plan('blackoutEveryMs', () => this.#blackOut())
    this.#plan('stepEveryMs', () => this.#step())
    this.#plan('stopEveryMs', () => this.#stopSome())
  }

  /** Plans the faults of a single server, for as long as it is up. */
  planFor(running: Running): void {
    const isUp = () => this.#isUp(running)
    this.#plan('crashEveryMs', () => this.crash(running), isUp)
    this.#plan('pauseEveryMs', () => this.pause(running), isUp)
    this.#plan('cutEveryMs', () => this.#cut(running), isUp)
    this.#plan('slowEveryMs', () => this.#slow(running), isUp)
  }

  /** Nothing more goes wrong: the store is back, frozen servers go on, crashed ones come back. */
  end(none: FaultRates): void {
    this.rates = { ...none, restartMsMax: this.rates.restartMsMax }
    this.isAway = false
    for (const { server, way } of this.#deps.servers.values()) {
      server.gate.release()
      Object.assign(way, { cut: null, slowMs: 0 })
    }
  }

  crash(running: Running, downMs: number = this.#drawRestartMs()): void {
    const { name } = running
    if (!this.#isUp(running)) return
    this.#deps.trace(`${name} crashes`)
    this.#note('crash', name, downMs)
    this.#takeDown(running, downMs)
  }

  pause({ name, server }: Running): void {
    const { random, world, trace } = this.#deps
    if (server.gate.state !== 'open') return
    const { pausesMs, pauseMsMax } = this.rates
    const drawn = pausesMs[Math.floor(random.next() * pausesMs.length)]
    const pauseMs = drawn ?? drawMs(random, 100, Math.max(100, pauseMsMax))
    server.gate.hold()
    trace(`${name} stands still for ${pauseMs} ms`)
    this.#note('pause', name, pauseMs)
    world.timers.schedule(pauseMs, () => server.gate.release())
  }

  /** In the midst of a call, one or the other. */
  break(running: Running): void {
    if (!this.#isUp(running)) return
    if (this.#deps.random.next() < 0.5) this.crash(running)
    else this.pause(running)
  }

  /** Lets something happen again and again, for as long as `goesOn` holds. */
  #plan(rate: EveryMs, happen: () => void, goesOn: () => boolean = () => true): void {
    const meanMs = this.rates[rate]
    if (meanMs === null) return
    this.#deps.world.timers.schedule(drawWaitMs(this.#deps.random, meanMs), () => {
      if (!goesOn() || this.rates[rate] === null) return
      happen()
      this.#plan(rate, happen, goesOn)
    })
  }

  #isUp(running: Running): boolean {
    return this.#deps.servers.get(running.name) === running
  }

  #takeDown({ name, server }: Running, downMs: number): void {
    server.gate.shut()
    this.#deps.servers.delete(name)
    this.#deps.world.timers.schedule(downMs, () => this.#deps.boot(name))
  }

  #drawRestartMs(): number {
    return drawMs(this.#deps.random, restartMsMin, Math.max(restartMsMin, this.rates.restartMsMax))
  }

  #cut({ name, way }: Running): void {
    const { random, world, trace } = this.#deps
    const forMs = drawMs(random, cutMsMin, Math.max(cutMsMin, this.rates.cutMsMax))
    way.cut = random.next() < 0.5 ? 'both' : 'back'
    trace(`${name} is cut off, ${way.cut}`)
    this.#note('cut', name, forMs)
    world.timers.schedule(forMs, () => {
      way.cut = null
    })
  }

  #slow({ name, way }: Running): void {
    const { random, world, trace } = this.#deps
    const forMs = drawMs(random, slowMsMin, Math.max(slowMsMin, this.rates.slowMsMax))
    way.slowMs = drawMs(random, 100, slowCallMsMax)
    trace(`${name} is slow, up to ${way.slowMs} ms a call`)
    this.#note('slow', name, forMs)
    world.timers.schedule(forMs, () => {
      way.slowMs = 0
    })
  }

  #goAway(): void {
    const { random, world, trace } = this.#deps
    const awayMs = drawMs(random, outageMsMin, Math.max(outageMsMin, this.rates.outageMsMax))
    this.isAway = true
    trace('the store goes away')
    this.#note('outage', null, awayMs)
    world.timers.schedule(awayMs, () => {
      this.isAway = false
    })
  }

  #blackOut(): void {
    const { random, servers } = this.#deps
    const downMs = drawMs(random, restartMsMin, Math.max(restartMsMin, this.rates.blackoutMsMax))
    for (const running of [...servers.values()]) this.crash(running, downMs + drawMs(random, 0, 5_000))
  }

  #step(): void {
    const { random, world, trace, note } = this.#deps
    const isBack = random.next() < 0.4
    const ms = isBack ? -drawMs(random, 1, stepBackMsMax) : drawMs(random, 100, stepForwardMsMax)
    if (isBack) this.backMs -= ms
    trace(`the store's clock steps by ${ms} ms`)
    const atMs = world.timers.nowMs
    note({ kind: 'clock step', server: null, fromMs: atMs, toMs: atMs, method: byTheBook })
    world.stepDatabase(ms)
  }

  /** One of them, or all, one after the other. */
  #stopSome(): void {
    const { random, servers } = this.#deps
    const all = [...servers.values()]
    const [one] = all.splice(Math.floor(random.next() * all.length), 1)
    if (one !== undefined) void this.#stopAll(random.next() < 0.3 ? [one, ...all] : [one])
  }

  async #stopAll(some: readonly Running[]): Promise<void> {
    for (const running of some)
      if (this.#isUp(running) && !this.#stopping.has(running)) await this.#stop(running)
  }

  /** Returns when the next one may be stopped: never, when this one crashes meanwhile. */
  async #stop(running: Running): Promise<void> {
    const { name, server } = running
    const { trace, meet, world, note } = this.#deps
    const fromMs = world.timers.nowMs
    trace(`${name} is told to stop`)
    this.#stopping.add(running)
    const how = await server.stop(drawMs(this.#deps.random, 1_000, drainMsMax))
    if (!this.#isUp(running)) return
    trace(`${name} has stopped, ${how}`)
    meet(how === 'idle' ? 'graceful stop' : 'graceful hand-back')
    const method = how === 'idle' ? byTheBook : null
    note({ kind: 'stop', server: name, fromMs, toMs: world.timers.nowMs, method })
    const downMs = this.#drawRestartMs()
    this.#takeDown(running, downMs)
    await world.timers.wait(downMs + drawMs(this.#deps.random, 0, 3_000))
  }

  #note(kind: Fault['kind'], server: string | null, forMs: number): void {
    const { nowMs } = this.#deps.world.timers
    this.#deps.note({ kind, server, fromMs: nowMs, toMs: nowMs + forMs, method: null })
  }
}

type EveryMs = {
  [K in keyof FaultRates]: FaultRates[K] extends number | null ? K : never
}[keyof FaultRates] &
  `${string}EveryMs`
