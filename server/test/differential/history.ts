// The operations of a simulation on the store: every call of every port, in the order in which the calls were carried
// out, with the time and the arguments. The arguments and answers of callbacks are kept too: ids and dice are drawn in
// there.
import type { EpochMs } from '../../src/lib/time/epoch.ts'
import type { FaultRates } from '../simulation/faults.ts'
import { startWorkload } from '../simulation/workload.ts'
import { Simulation, type Tables } from '../simulation/world.ts'
import { startReaders } from './readers.ts'

export interface Operation {
  at: EpochMs
  port: PortName
  method: string
  /** A callback is stored in its position as its recorded arguments and answers. */
  args: readonly unknown[]
}

export type PortName = Exclude<keyof Tables, 'store'>
export type Ports = Record<PortName, object>

/** The arguments and answers of a callback, in order. */
export class Consulted {
  readonly calls: Call[] = []
}

export interface Call {
  asked: readonly unknown[]
  said: unknown
  threw: boolean
  /** The operations that the callback itself carried out on the stores it was given. */
  did: Operation[]
}

export interface HistoryOptions {
  seed: number
  rates: FaultRates
  /** How long jobs fire and faults happen; then half as long for executions under way to end. */
  forMs: number
  jobs: number
  graphs: number
  changeEveryMs: number
  orderEveryMs: number
  /** Total number of user actions on graphs. */
  deeds: number
}

/** Some servers, so that leases, partitions and claims go back and forth. */
const servers = 3
/** Hints make up for most polls, and polls that find nothing say little. */
const pollFactor = 5
/** Not on a whole second, and soon before an hour begins at which many fire and the clocks of Berlin change. */
const startAt = Date.UTC(2026, 2, 29, 0, 59, 40, 123)

export async function recordHistory(options: HistoryOptions): Promise<Operation[]> {
  const { seed, rates, forMs, ...load } = options
  const history: Operation[] = []
  const recorded = new WeakSet<Tables>()
  const tamper = (tables: Tables) => {
    if (!recorded.has(tables)) recordPorts(tables, history)
    recorded.add(tables)
    return tables
  }
  const sim = new Simulation({ seed, servers, startAt, rates, pollFactor, tamper })
  startWorkload(sim, { untilMs: forMs, ...load })
  startReaders(sim, forMs)
  await sim.advance(forMs)
  sim.heal()
  await sim.advance(forMs / 2)
  return history
}

type Note = (operation: Pick<Operation, 'port' | 'method' | 'args'>) => void

/** Modifies the tables in place: users act on the tables themselves, servers through their link. */
function recordPorts(tables: Tables, history: Operation[]): void {
  const { store, ...ports } = tables
  Object.assign(
    tables,
    listenToPorts(ports, (one) => void history.push({ at: store.now(), ...one })),
  )
}

function listenToPorts<Ports extends object>(ports: Ports, record: Note): Ports {
  const parts = Object.entries(ports).map(([name, port]) => [
    name,
    listenToPort(name as PortName, port, record),
  ])
  return Object.fromEntries(parts) as Ports
}

function listenToPort(port: PortName, target: object, record: Note): object {
  return new Proxy(target, {
    get(_target, key) {
      const value: unknown = Reflect.get(target, key, target)
      // A wrapper that was put before a method calls it in the end.
      if (typeof value !== 'function' || Object.hasOwn(target, key)) return value
      return (...args: unknown[]) => {
        const kept = args.map(keep)
        record({ port, method: String(key), args: kept.map(({ argument }) => argument) })
        return value.apply(
          target,
          kept.map(({ passed }) => passed),
        ) as unknown
      }
    },
  })
}

/** An argument as it is kept, and as it is passed on: with an ear on every callback in it. */
function keep(argument: unknown): { argument: unknown; passed: unknown } {
  if (typeof argument === 'function') {
    const consulted = new Consulted()
    return { argument: consulted, passed: listen(argument as Callback, consulted) }
  }
  if (!hasCallbacks(argument)) return { argument: structuredClone(argument), passed: argument }
  const parts = Object.entries(argument).map(([name, value]) => ({ name, ...keep(value) }))
  return {
    argument: Object.fromEntries(parts.map((part) => [part.name, part.argument])),
    passed: Object.fromEntries(parts.map((part) => [part.name, part.passed])),
  }
}

type Callback = (...asked: unknown[]) => unknown

function listen(callback: Callback, { calls }: Consulted): Callback {
  return (...asked) => {
    const call: Call = { asked: asked.map(cloneOf), said: undefined, threw: false, did: [] }
    calls.push(call)
    const say = (said: unknown) => {
      call.said = structuredClone(said)
      return said
    }
    const fail = (error: unknown) => {
      call.threw = true
      throw error
    }
    // When it was done is known from the call it is part of.
    const record: Note = (one) => void call.did.push({ at: 0 as EpochMs, ...one })
    try {
      const said = callback(...asked.map((one) => (isStores(one) ? listenToPorts(one, record) : one)))
      return said instanceof Promise ? said.then(say, fail) : say(said)
    } catch (error) {
      return fail(error)
    }
  }
}

/** A value that is not a plain object is compared only through the answers that it leads to. */
function cloneOf(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value
  const isPlain = Object.getPrototypeOf(value) === Object.prototype && !isStores(value)
  return isPlain ? structuredClone(value) : null
}

/** Whether the value is the stores of a transaction that is under way. */
export function isStores(value: unknown): value is Ports {
  return value !== null && typeof value === 'object' && 'jobs' in value && 'control' in value
}
function hasCallbacks(argument: unknown): argument is object {
  if (argument === null || typeof argument !== 'object' || Array.isArray(argument)) return false
  return Object.values(argument).some((value) => typeof value === 'function')
}
