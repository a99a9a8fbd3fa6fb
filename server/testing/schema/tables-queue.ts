// The tables of scheduling, of the queue and of graph runs, in words. See tables.ts.
import type { SchemaSubject, TableNote } from './tables.ts'

const schedulingTables: readonly TableNote[] = [
  {
    table: 'cursors',
    purpose: 'The next slot of each job, and the status of the job. A fire locks this row.',
    growth: 'one row a job',
    retention: 'for ever, as its job',
    columns: {
      partition_id: 'hash of the job id, 0 to 63; one scheduler at a time fires a partition',
      slot_at: 'nominal time of the next slot',
      due_at: 'when the slot fires: slot_at plus jitter',
      decided_to: 'every slot up to here is decided for good',
      scattered: 'the job allowed overlaps once: its executions may be in several batches',
      runs: 'slots that ran, counted while the schedule has a max_runs',
      awaited_id: 'the execution whose end decides the next slot (after_completion)',
      graph_id: 'the least job id of its graph; null: it has no dependencies',
      depends: 'it runs after other jobs and never has a slot',
    },
  },
  {
    table: 'slots',
    purpose: 'One row a slot that fired or was skipped. The primary key makes a slot fire once.',
    growth: 'one row a slot; a partition a UTC day',
    retention: '3 days, or as long as the oldest waiting batch of slots',
    columns: {
      execution_id: 'of a skipped slot: the execution that was in its way',
      reason: 'why it was skipped; null: it fired',
    },
  },
  {
    table: 'changes',
    purpose: 'Jobs that became due soon through a change; read by the scheduler of their partition.',
    growth: 'one row a changed job',
    retention: 'until read, within a second',
  },
  {
    table: 'catchups',
    purpose: 'Slots that a job still owes after an outage, as one range a job.',
    growth: 'at most one row a job',
    retention: 'until the last owed slot has run or was skipped',
    columns: {
      from_slot: 'after to_slot: none is owed any more, and the last ones are under way',
      pace_ms: 'least time between two owed slots',
      next_at: 'the next owed slot runs no earlier',
      joined: 'on-time slots that have joined the owed ones',
    },
  },
  {
    table: 'skips',
    purpose: 'Ranges of slots that were skipped for one reason under one version.',
    growth: 'one row a range; a range grows while its reason lasts',
    retention: 'for ever',
    columns: {
      changed_at: 'last write, to a minute; null: before migration 9',
      paused_at: 'of the pause that skipped them; null: skipped otherwise, or by an older version',
    },
  },
  {
    table: 'schedulers',
    purpose: 'Running scheduler processes. The row is the right to fire; beats is its lease.',
    growth: 'one row a process',
    retention: 'until it stops, or its beats stand still for 6 s',
    columns: { generation: 'the batch format that the program reads: see connection/generation.ts' },
  },
  {
    table: 'partitions',
    purpose: 'The scheduler that fires each of the 64 partitions.',
    growth: '64 rows',
    retention: 'for ever',
  },
]

const activeTables: readonly TableNote[] = [
  {
    table: 'workers',
    purpose: 'Running workers. The row is the right to act; beats is its lease.',
    growth: 'one row a worker',
    retention: 'until it stops, or its beats stand still for 10 s',
    columns: {
      tenant_id: 'null: a worker of this installation; else the tenant whose handlers it runs',
      port: 'where its process listens for HTTP; null: it does not, or does not say',
      current_load: 'as the worker counts it, for programs of an older version',
      executors: 'kinds of execution it runs',
      handlers: 'names of the handlers it has',
      generation: 'the batch format that the program reads: see connection/generation.ts',
    },
  },
  {
    table: 'former_workers',
    purpose: 'Workers that died or left, for people to see. A row gives no right to act.',
    growth: 'one row a worker that ends; at most 10,000 dead ones a tenant and 1,000 that left',
    retention: 'an hour after a death, 10 minutes after a leave',
    columns: {
      tenant_id: 'null: a worker of this installation',
      ended_at: 'when it was declared dead or left',
      shown_until: 'from then on it is neither shown nor kept',
    },
  },
  {
    table: 'batches',
    purpose: 'The queue of first attempts on the fast path: up to 100 executions in parallel arrays.',
    growth: 'one row up to 100 due executions',
    retention: 'until every position has ended or moved to live',
    columns: {
      batch_id: 'ends in a zero byte; an execution id is the batch id plus its position',
      route: 'the workers that may claim it',
      lane: "'shared', or the id of a busy tenant: see domain/queue/lane.ts",
      rank: 'order within a lane: enqueued_at plus 60 s a priority level',
      worker_id: 'null: it waits',
      fence: 'grows with each claim; a write under a claim must name it',
      positions:
        'positions that are left, in order if the batch has payloads; parallel to the next three arrays',
      cancels: 'cancelled positions of a claimed batch, each with its message',
      payloads: 'of triggers: payloads by original position; null: the payload of the job',
    },
  },
  {
    table: 'execution_budgets',
    purpose:
      'Executions that a tenant with a limit was charged for and has not earned back: see decision 31.',
    growth: 'one row a tenant that was ever charged',
    retention: 'for ever, as its tenant',
    columns: {
      spent: 'executions that were charged and not earned back by counted_at',
    },
  },
  {
    table: 'live',
    purpose:
      'One row an active execution that is not a position of a batch: retries, triggers, limits, graph nodes.',
    growth: 'one row an active execution outside batches',
    retention: 'until the execution ends',
    columns: {
      state: 'see docs/internals/states.md',
      route: 'the workers that may claim it',
      lane: "'shared', or the id of a busy tenant",
      rank: 'order within a lane: enqueued_at plus 60 s a priority level',
      ready_at: 'of a retrying one: when its next attempt may start',
      fence: 'grows with each claim; a write under a claim must name it',
      attempt: 'number of the latest attempt: a claim adds one, a return without a start takes it back',
      losses: 'attempts that were lost with their worker',
      host: "the host whose limit it waits for, and its tenant; 'suspect': lost with a worker more than once; 'quota': never charged, and waits for the budget of its tenant",
      skip_at: 'of a slot that waits for a budget: when it is skipped instead; null: never',
      retry_of: 'the execution that a retry or redrive repeats',
      concurrency_key: 'at most key_limit executions that are not waiting have the same key',
      operation_id: 'the operation that made it',
      cancelled_at: 'of a running one: it ends cancelled regardless of the report',
      caller_id: 'the worker that made the call whose result is awaited',
      deadline: 'when the attempt times out',
      silent_at: 'when the attempt times out unless it sends a heartbeat',
      total_deadline: 'when the execution times out, over all attempts',
      heard_at: 'last report of the attempt',
      checkpoint: 'kept for the next attempt',
      run_id: 'the graph run it belongs to; null: none',
    },
  },
]

const graphTables: readonly TableNote[] = [
  {
    table: 'job_edges',
    purpose: 'Current dependencies between undeleted jobs. A lock per tenant keeps them free of cycles.',
    growth: 'one row a dependency',
    retention: 'until the dependency is removed',
  },
  {
    table: 'graph_runs',
    purpose: 'A run of a graph: its nodes in parallel arrays, and its edges as they were at its start.',
    growth: 'one row a run',
    retention: 'history_days of the tier after its end',
    columns: {
      roles: 'a letter a node: ROLE_LETTERS in domain/graphs/graph-run.ts',
      states: 'a letter a node: NODE_LETTERS in domain/graphs/graph-run.ts',
      unfired: 'a root of it is still to fire',
      execution_ids: 'null: a root that has not fired, or an outside node that never ended',
      edges: '[[parent, child, rule], …] by index in the arrays',
      replaced: '[[index, execution id, resume], …]: executions that a resume replaced',
      resumes: 'how often it was resumed',
    },
  },
  {
    table: 'run_roots',
    purpose: 'Unfinished runs of each root job, for its overlap policy.',
    growth: 'one row a root of an unfinished run',
    retention: 'until the run ends',
  },
  {
    table: 'run_notes',
    purpose:
      'Starts, ends and cancels in graph runs that no step has handled yet. Insert-only, so an ending execution never waits.',
    growth: 'one row a start or an end of a node',
    retention: 'until the step of its run, within a second',
  },
]

export const queueTables: readonly SchemaSubject[] = [
  { subject: 'scheduling', tables: schedulingTables },
  { subject: 'queue', tables: activeTables },
  { subject: 'graphs', tables: graphTables },
]
