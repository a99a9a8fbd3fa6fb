// The connection of a simulated server to the store: every call takes its time, may fail before or after it was carried
// out, and may be carried out long after its caller has given up. A call that was sent is carried out, regardless of
// the fate of its sender.
import { Unavailable } from '../../src/lib/unavailable.ts'
import type { Random } from '../../src/ports/random.ts'
import type { VirtualTimers } from '../virtual-world.ts'
import { drawMs, type Fault, type FaultKind, type FaultRates } from './faults.ts'
import type { Gate } from './gate.ts'
import type { Caller, Method } from './ports.ts'

/** How it is with the way at present. */
export interface Way {
  /** Nothing arrives; or only no answer comes back. */
  cut: 'both' | 'back' | null
  /** Every call takes up to so much longer. */
  slowMs: number
}

export interface LinkDeps {
  timers: VirtualTimers
  gate: Gate
  random: Random
  rates: () => FaultRates
  way: Way
  /** Whether the store is away now. */
  isAway: () => boolean
  onFault: (fault: Pick<Fault, 'kind' | 'fromMs' | 'toMs' | 'method'>) => void
  /** Breaks the server that makes the call: it crashes or stands still. */
  onBreak: () => void
  /** Told when a call is carried out, and how its caller hears of it. */
  onEvent: ((what: string, args: unknown[]) => void) | null
  /** Receives the result of each call that was carried out. */
  onDone: ((name: string, args: unknown[], result: Promise<unknown>, isLate: boolean) => void) | null
}

/** The shortest and longest time a store call takes. */
const callMsMin = 1
const callMsMax = 20
/** When within that time it is carried out: one timer does for the first two, which makes a day cheaper. */
const ARRIVALS = ['at once', 'at the end', 'between'] as const
const BREAKS = ['before', 'during', 'after'] as const
/** As in `postgres/connection/database.ts`: when our side gives up by itself; sooner on the connection of leases. */
const giveUpMs = 7_000
const giveUpLeaseMs = 4_000
const onLeaseConnection = /^(leases\.|partitions\.(join|beat|leave)$|clock\.)/
/** A call that is late is carried out within this time after its caller has given up. */
const lateMsMax = 25_000

type Fate = 'well' | 'refused' | 'lost' | 'late' | 'broken'

export function createLink(deps: LinkDeps): Caller {
  const { random, gate, onBreak } = deps
  return (name, method, args) => {
    // Nothing is asked: no store we have makes a round trip for that.
    const last = args.at(-1)
    const isNothing = Array.isArray(last) && last.length === 0 && name !== 'queue.releaseUnknown'
    if (isNothing) return method(...args)
    const fate = drawFate(random, deps.rates())
    const call = new Call(deps, { name, method, args, fate })
    if (fate !== 'broken') return call.send()
    const when = BREAKS[Math.floor(random.next() * BREAKS.length)]
    if (when === 'before') {
      onBreak()
      // One that stands still sends it when it goes on.
      return new Promise((resolve) => gate.pass(() => resolve(call.send())))
    }
    const sent = call.send()
    if (when === 'during') onBreak()
    // The caller goes on first, to its next await.
    else void sent.finally(() => deps.timers.schedule(0, onBreak)).catch(() => {})
    return sent
  }
}

function drawFate(random: Random, rates: FaultRates): Fate {
  const luck = random.next()
  let below = 0
  const shares = [
    ['refused', rates.refusedShare],
    ['lost', rates.lostShare],
    ['late', rates.lateShare],
    ['broken', rates.brokenAtCallShare],
  ] as const
  for (const [fate, share] of shares) {
    below += share
    if (luck < below) return fate
  }
  return 'well'
}

interface CallFacts {
  name: string
  method: Method
  args: unknown[]
  fate: Fate
}

class Call {
  readonly #deps: LinkDeps
  readonly #facts: CallFacts
  readonly #sentMs: number

  constructor(deps: LinkDeps, facts: CallFacts) {
    this.#deps = deps
    this.#facts = facts
    this.#sentMs = deps.timers.nowMs
  }

  send(): Promise<unknown> {
    const { timers, random, way } = this.#deps
    const { fate, args } = this.#facts
    const slowMs = way.slowMs === 0 ? 0 : drawMs(random, 0, way.slowMs)
    const tookMs = drawMs(random, callMsMin, callMsMax) + slowMs
    const arrives = ARRIVALS[Math.floor(random.next() * ARRIVALS.length)]
    const leftMs = arrives === 'at once' ? 0 : arrives === 'at the end' ? tookMs : drawMs(random, 0, tookMs)
    // A transaction that asks its caller something in the middle ends with the connection.
    const isLate = fate === 'late' && !args.some(asksBack)
    if (isLate) this.#carryOutLate()
    if (isLate || way.cut === 'both' || tookMs > this.#giveUpMs) return this.#giveUp()
    return new Promise((resolve, reject) => {
      const answer = (result: Promise<unknown> | null) => this.#answer(result, resolve, reject)
      if (leftMs === 0) {
        const result = this.#carryOut()
        timers.schedule(tookMs, () => answer(result))
      } else if (leftMs === tookMs) timers.schedule(tookMs, () => answer(this.#carryOut()))
      else {
        timers.schedule(leftMs, () => {
          const result = this.#carryOut()
          timers.schedule(tookMs - leftMs, () => answer(result))
        })
      }
    })
  }

  get #giveUpMs(): number {
    return onLeaseConnection.test(this.#facts.name) ? giveUpLeaseMs : giveUpMs
  }

  #giveUp(): Promise<unknown> {
    const { timers, gate } = this.#deps
    const { name } = this.#facts
    return new Promise((_, reject) => {
      timers.schedule(this.#giveUpMs, () => {
        this.#say(`${name} given up`, [])
        this.#fail('refused call')
        gate.pass(() => reject(new Unavailable('the store')))
      })
    })
  }

  #carryOutLate(): void {
    const { timers, random, isAway, onDone } = this.#deps
    const { name, method, args } = this.#facts
    // A copy as it was sent: the sender goes on and may change its objects.
    const sent = structuredClone(args)
    timers.schedule(this.#giveUpMs + drawMs(random, 0, lateMsMax), () => {
      if (isAway()) return
      this.#say(`${name} late`, sent)
      this.#fail('late effect')
      const result = method(...sent)
      onDone?.(name, sent, result, true)
      // A fence or a key may refuse it, and nobody listens any more.
      result.catch(() => {})
    })
  }

  #carryOut(): Promise<unknown> | null {
    const { name, method, args, fate } = this.#facts
    const { isAway, way, onDone } = this.#deps
    if (fate === 'refused' || isAway() || way.cut === 'both') return null
    this.#say(name, args)
    const result = method(...args)
    // The caller hears of a failure later; until then nothing listens, which is not the caller's fault.
    result.catch(() => {})
    onDone?.(name, args, result, false)
    return result
  }

  #answer(
    result: Promise<unknown> | null,
    resolve: (value: unknown) => void,
    reject: (error: Error) => void,
  ): void {
    const { gate, isAway, way } = this.#deps
    const { name, fate } = this.#facts
    const fails = result === null || fate === 'lost' || isAway() || way.cut !== null
    this.#say(`${name} ${fails ? (result === null ? 'refused' : 'lost') : 'answered'}`, [])
    if (fails) this.#fail(result === null ? 'refused call' : 'lost reply')
    gate.pass(() => (fails ? reject(new Unavailable('the store')) : resolve(result)))
  }

  #say(what: string, args: unknown[]): void {
    this.#deps.onEvent?.(what, args)
  }

  #fail(kind: FaultKind): void {
    const { timers, onFault } = this.#deps
    const fromMs = kind === 'late effect' ? this.#sentMs : timers.nowMs
    onFault({ kind, fromMs, toMs: timers.nowMs, method: this.#facts.name })
  }
}

/** Whether a call has something in it that is asked in the middle. */
function asksBack(arg: unknown): boolean {
  if (typeof arg !== 'object' || arg === null) return typeof arg === 'function'
  return Object.values(arg).some((value) => typeof value === 'function')
}
