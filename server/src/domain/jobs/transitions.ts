// The life of a job, as `cursors.status` has it. Rendered into `docs/internals/states.md`.
import { moves, type TransitionTable } from '../../lib/transition-table.ts'
import type { JobStatus } from './job.ts'

export type JobEvent = 'create' | 'edit' | 'pause' | 'resume' | 'complete' | 'delete'

const changeGuard = 'row lock on the job and its cursor, held for every decision about the job'

export const jobTransitions: TransitionTable<JobStatus, JobEvent> = {
  states: {
    ACTIVE: 'its slots fire, or it runs after the jobs it depends on',
    PAUSED: 'no new slots until it is resumed; its executions go on',
    COMPLETED: 'no slot is left',
    DELETED: 'kept for its history only',
  },
  events: {
    create: { by: 'API', calls: ['jobs.create'], guard: 'unique key of the tenant' },
    edit: { by: 'API: the schedule changes', calls: ['jobs.change'], guard: changeGuard },
    pause: { by: 'API, operations', calls: ['jobs.change'], guard: changeGuard },
    resume: {
      by: 'API, operations, maintenance (the end of a pause)',
      calls: ['jobs.change'],
      guard: changeGuard,
    },
    complete: {
      by: 'scheduler: the last slot is decided; maintenance: the awaited execution has ended',
      calls: ['slots.fire', 'slots.fireAndClaim', 'maintenance.release'],
      guard: 'row lock on the cursor with the version of the plan',
    },
    delete: { by: 'API, operations', calls: ['jobs.change'], guard: changeGuard },
  },
  transitions: [
    ...moves([null], 'create', ['ACTIVE', 'COMPLETED']),
    ...moves(['ACTIVE', 'PAUSED'], 'edit', ['COMPLETED']),
    ...moves(['COMPLETED'], 'edit', ['ACTIVE']),
    ...moves(['ACTIVE'], 'pause', ['PAUSED']),
    ...moves(['PAUSED'], 'resume', ['ACTIVE', 'COMPLETED']),
    ...moves(['ACTIVE'], 'complete', ['COMPLETED']),
    ...moves(['ACTIVE', 'PAUSED', 'COMPLETED'], 'delete', ['DELETED']),
  ],
}
