// The stored ports as one simulated server reaches them: every call takes its time, and may fail before or after it
// was carried out. One wrapper for every method of every port, so that no call is forgotten.
import { Unavailable } from '../../src/lib/unavailable.ts'
import type { Attempts } from '../../src/ports/attempts.ts'
import type { GraphRuns, RunSteps } from '../../src/ports/graph-runs.ts'
import type { Leases } from '../../src/ports/leases.ts'
import type { Logs } from '../../src/ports/logs.ts'
import type { Partitions } from '../../src/ports/partitions.ts'
import type { Queue } from '../../src/ports/queue.ts'
import type { Random } from '../../src/ports/random.ts'
import type { Secrets } from '../../src/ports/secrets.ts'
import type { Slots } from '../../src/ports/slots.ts'
import type { Upkeep } from '../../src/ports/upkeep.ts'
import type { VirtualTimers } from '../virtual-world.ts'
import { drawMs, type FaultKind } from './faults.ts'
import type { Gate } from './gate.ts'

export interface StoredPorts {
  slots: Slots
  queue: Queue
  attempts: Attempts
  logs: Logs
  secrets: Secrets
  upkeep: Upkeep
  leases: Leases
  partitions: Partitions
  runSteps: RunSteps
  graphRuns: GraphRuns
}

export type Method = (...args: unknown[]) => Promise<unknown>
/** Makes a call of a method by its own rules. */
export type Caller = (name: string, method: Method, args: unknown[]) => Promise<unknown>

export function wrapPorts(ports: StoredPorts, call: Caller): StoredPorts {
  const { slots, queue, attempts, logs, secrets, upkeep, leases, partitions, runSteps, graphRuns } = ports
  return {
    slots: wrapPort('slots', slots, call),
    queue: wrapPort('queue', queue, call),
    attempts: wrapPort('attempts', attempts, call),
    logs: wrapPort('logs', logs, call),
    secrets: wrapPort('secrets', secrets, call),
    upkeep: wrapPort('upkeep', upkeep, call),
    leases: wrapPort('leases', leases, call),
    partitions: wrapPort('partitions', partitions, call),
    runSteps: wrapPort('runSteps', runSteps, call),
    graphRuns: wrapPort('graphRuns', graphRuns, call),
  }
}

function wrapPort<T extends object>(name: string, port: T, call: Caller): T {
  const wrapped = new Map<string | symbol, unknown>()
  return new Proxy(port, {
    get(target, key) {
      if (!wrapped.has(key)) {
        const value: unknown = Reflect.get(target, key, target)
        const method = typeof value === 'function' ? (value.bind(target) as Method) : null
        const full = `${name}.${String(key)}`
        wrapped.set(key, method === null ? value : (...args: unknown[]) => call(full, method, args))
      }
      return wrapped.get(key)
    },
  })
}

export interface LinkDeps {
  timers: VirtualTimers
  gate: Gate
  random: Random
  shares: () => { refusedShare: number; lostShare: number }
  /** Whether the store is away now. */
  isAway: () => boolean
  onFault: (kind: FaultKind, method: string) => void
  /** Told when a call is carried out, and how its caller hears of it. */
  onEvent: ((what: string, args: unknown[]) => void) | null
}

/** The shortest and longest time a store call takes. */
const callMsMin = 1
const callMsMax = 20
/** When within that time it is carried out: one timer does for the first two, which makes a day cheaper. */
const ARRIVALS = ['at once', 'at the end', 'between'] as const

/** The way to the store of one server. A call that has left is carried out, whatever becomes of its sender. */
export function createLink(deps: LinkDeps): Caller {
  const { timers, gate, random, isAway, onFault, onEvent } = deps
  return (name, method, args) => {
    // Nothing is asked: no store we have makes a round trip for that.
    const last = args.at(-1)
    if (Array.isArray(last) && last.length === 0) return method(...args)
    const { refusedShare, lostShare } = deps.shares()
    const luck = random.next()
    const refused = luck < refusedShare
    const lost = !refused && luck < refusedShare + lostShare
    const tookMs = drawMs(random, callMsMin, callMsMax)
    const arrives = ARRIVALS[Math.floor(random.next() * ARRIVALS.length)]
    const leftMs = arrives === 'at once' ? 0 : arrives === 'at the end' ? tookMs : drawMs(random, 0, tookMs)
    return new Promise((resolve, reject) => {
      const carryOut = (): Promise<unknown> | null => {
        if (refused || isAway()) return null
        onEvent?.(name, args)
        const result = method(...args)
        // Whoever asked hears of a failure later; until then nobody listens, which is no fault of theirs.
        result.catch(() => {})
        return result
      }
      const answer = (result: Promise<unknown> | null) => {
        const fails = result === null || lost || isAway()
        onEvent?.(`${name} ${fails ? (result === null ? 'refused' : 'lost') : 'answered'}`, [])
        if (fails) onFault(result === null ? 'refused call' : 'lost reply', name)
        gate.pass(() => (fails ? reject(new Unavailable('the store')) : resolve(result)))
      }
      if (leftMs === 0) {
        const result = carryOut()
        timers.schedule(tookMs, () => answer(result))
      } else if (leftMs === tookMs) timers.schedule(tookMs, () => answer(carryOut()))
      else {
        timers.schedule(leftMs, () => {
          const result = carryOut()
          timers.schedule(tookMs - leftMs, () => answer(result))
        })
      }
    })
  }
}
