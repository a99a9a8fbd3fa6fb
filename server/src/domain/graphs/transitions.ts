// The life of a graph run, as `graph_runs.status` has it. Rendered into `docs/internals/states.md`.
import { moves, type TransitionTable } from '../../lib/transition-table.ts'
import type { RunStatus } from './graph-run.ts'

export type RunEvent = 'start' | 'cancel' | 'end' | 'resume'

const guard = 'row lock on the graph run'

export const runTransitions: TransitionTable<RunStatus, RunEvent> = {
  states: {
    RUNNING: 'some of its nodes have not ended',
    CANCELLING: 'nothing of it starts any more; running nodes are being stopped',
    SUCCEEDED: 'every node ended, none failed or was cancelled',
    FAILED: 'every node ended, at least one failed or timed out',
    CANCELLED: 'every node ended after a cancel, or one was cancelled and none failed',
  },
  events: {
    start: {
      by: 'graph runs: a root has fired',
      calls: ['runSteps.step'],
      guard: 'primary key of the run, which follows from the graph and the slot',
    },
    cancel: {
      by: 'API; graph runs: its root was cancelled or superseded',
      calls: ['graphRuns.cancel', 'runSteps.step', 'graphRuns.resume'],
      guard,
    },
    end: {
      by: 'graph runs: the last node has ended',
      calls: ['runSteps.step', 'graphRuns.cancel', 'graphRuns.resume'],
      guard,
    },
    resume: { by: 'API', calls: ['graphRuns.resume'], guard },
  },
  transitions: [
    ...moves([null], 'start', ['RUNNING']),
    ...moves(['RUNNING'], 'cancel', ['CANCELLING']),
    ...moves(['RUNNING'], 'end', ['SUCCEEDED', 'FAILED', 'CANCELLED']),
    ...moves(['CANCELLING'], 'end', ['CANCELLED']),
    ...moves(['SUCCEEDED', 'FAILED', 'CANCELLED'], 'resume', ['RUNNING']),
  ],
}
