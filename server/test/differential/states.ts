// The state that an execution is in by the transition table, and the way from one state to another.
import type { LiveState, Outcome } from '../../src/domain/queue/execution.ts'
import type { ExecutionState } from '../../src/domain/queue/transitions.ts'
import type { Transition, TransitionTable } from '../../src/lib/transition-table.ts'

/** The state of an execution in `live`. */
export function stateOfLive(state: LiveState, isCancelled: boolean): ExecutionState {
  return isCancelled ? 'cancelling' : state
}

/** The state of an execution that is a position in a batch. */
export function stateInBatch(isClaimed: boolean, isCancelled: boolean): ExecutionState {
  if (isCancelled) return 'cancelling'
  return isClaimed ? 'running' : 'ready'
}

/** The state of an execution whose final attempt had this outcome. */
export function stateOfOutcome(outcome: Outcome): ExecutionState {
  return outcome === 'lost' ? 'failed' : outcome
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
