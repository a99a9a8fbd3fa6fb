// A state machine as data: its states, its events and the moves between them. Pages are rendered from such a table, and
// tests hold everything they observe against it.

export interface TransitionEvent {
  /** The part of the system that causes it. */
  by: string
  /** The store calls (`port.method`) that may carry it out. */
  calls: readonly string[]
  /** The lock, key or number that keeps two callers from carrying it out at once or too late. */
  guard: string
}

export interface Transition<State extends string, Event extends string> {
  /** Null: it does not exist before. */
  from: State | null
  event: Event
  to: State
}

export interface TransitionTable<State extends string = string, Event extends string = string> {
  /** Every state, with its meaning. */
  states: Readonly<Record<State, string>>
  events: Readonly<Record<Event, TransitionEvent>>
  transitions: readonly Transition<State, Event>[]
}

/** `from` and `to` with several states stand for every pair. */
export function moves<State extends string, Event extends string>(
  from: readonly (State | null)[],
  event: Event,
  to: readonly State[],
): Transition<State, Event>[] {
  return from.flatMap((one) => to.map((other) => ({ from: one, event, to: other })))
}

/**
 * The shortest way from one state to another that takes only events which these calls may carry out: one call may let an
 * execution go through several states. Null: there is none.
 */
export function findPath<State extends string, Event extends string>(
  { events, transitions }: TransitionTable<State, Event>,
  { from, to, calls }: { from: State | null; to: State; calls: ReadonlySet<string> },
): Transition<State, Event>[] | null {
  const allowed = transitions.filter(({ event }) => events[event].calls.some((call) => calls.has(call)))
  const paths: Transition<State, Event>[][] = allowed.filter((one) => one.from === from).map((one) => [one])
  const seen = new Set(paths.map(([first]) => first!.to))
  // Grows while it is walked.
  for (const path of paths) {
    const last = path.at(-1)!
    if (last.to === to) return path
    for (const next of allowed) {
      if (next.from !== last.to || seen.has(next.to)) continue
      seen.add(next.to)
      paths.push([...path, next])
    }
  }
  return null
}
