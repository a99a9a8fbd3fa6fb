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
