// Where an execution is in its life. In a file of its own: executions and the runs of graphs that they belong to need it.

export const EXECUTION_STATUSES = [
  'WAITING_DEPENDENCIES',
  'PENDING',
  'RUNNING',
  'RETRYING',
  'SUCCEEDED',
  'FAILED',
  'TIMED_OUT',
  'CANCELLING',
  'CANCELLED',
  'SKIPPED',
] as const
