// The tables of history and of the figures folded from it, in words. See tables.ts.
import type { TableNote } from './tables.ts'

export const historyTables: readonly TableNote[] = [
  {
    table: 'attempts',
    purpose:
      'Every attempt that ended, by the UTC day of its record. Exactly one row of an execution is final.',
    growth: 'one row an attempt; a partition a UTC day',
    retention: '366 days, by dropping days; a tier with fewer history_days is not shown older ones',
    columns: {
      final: 'the execution ended with it',
      kind: 'why the execution was made',
      slot: 'of a trigger: when it was triggered',
      preview: 'the beginning of the response',
      cpu_ms: 'of a command or a bundle',
      bytes_sent: 'of an HTTP request, with its head',
      bytes_received: 'of its answer, likewise',
      skip_reason: 'of a graph node that was skipped',
    },
  },
  {
    table: 'dead_letters',
    purpose: 'Executions that failed for good, with the errors of all attempts and the payload.',
    growth: 'one row a failed execution',
    retention: 'until redriven or discarded',
    columns: {
      redrive_at: 'when it is redriven by itself; null: never',
      edited_at: 'last change of its payload',
    },
  },
  {
    table: 'logs',
    purpose: 'Lines that attempts wrote, one row a request.',
    growth: 'bounded bytes an execution',
    retention: '365 days after the execution was made',
    columns: { lines: '[[at, level, message], …]', first_line: 'number of its first line in the attempt' },
  },
  {
    table: 'log_days',
    purpose: 'Bytes of the logs of tenants with a limit on storage. A table of logs is too large to sum.',
    growth: 'one row a tenant and day',
    retention: '365 days, with the logs',
    columns: { day: 'the UTC day on which the execution was made' },
  },
  {
    table: 'job_days',
    purpose: 'Ended executions of each job and day, for the statistics of a job.',
    growth: 'one row a job and day',
    retention: '365 days',
  },
  {
    table: 'stats_feed',
    purpose: 'How far job_days is folded from attempts.',
    growth: 'one row',
    retention: 'for ever',
  },
  {
    table: 'rollup_feeds',
    purpose: 'How far each of the five folds of the rollups below has come.',
    growth: 'five rows',
    retention: 'for ever',
  },
  {
    table: 'history_processes',
    purpose:
      'The processes with the role history; for liveness only: while one beats, schedulers leave folding to it.',
    growth: 'a row a process with the role',
    retention: 'until the process stops, or an hour after its last beat',
  },
  {
    table: 'tenant_activity',
    purpose: 'Counts of a tenant by minute, hour and day.',
    growth: 'a row a minute, an hour and a day for each tenant with activity',
    retention: 'minutes 2 days, hours 60 days, days 400 days',
    columns: {
      step: 'length in seconds',
      started: 'first attempts of slots and triggers',
      peak: 'most ends in one minute of it',
    },
  },
  {
    table: 'job_activity',
    purpose: 'Counts of a job by hour and day.',
    growth: 'a row an hour and a day for each job with activity',
    retention: 'hours 60 days, days 400 days',
    columns: { step: 'length in seconds' },
  },
  {
    table: 'job_health',
    purpose: 'How each job goes: its last execution that counts, and the failures in a row up to it.',
    growth: 'one row a job that has run',
    retention: 'as long as the job, until some minutes after its delete',
    columns: {
      execution_id: 'the latest, by id, that succeeded, failed or timed out; history may have dropped it',
      error_message: 'its first 300 characters',
      failures: 'in a row, up to the last one',
      failing_since: 'end of the first of them',
      recovered_at: 'the last success that took more than one attempt',
    },
  },
  {
    table: 'failure_groups',
    purpose: 'Failed attempts grouped by job and shape of the message, in ten minutes each.',
    growth: 'at most 1,000 groups a tenant in ten minutes',
    retention: '14 days',
    columns: { shape: 'hash of the message without numbers, ids and quoted parts', http_status: '0: none' },
  },
  {
    table: 'late_slots',
    purpose: 'Slots that began more than five seconds late or were skipped.',
    growth: 'at most 1,000 a tenant and hour',
    retention: '7 days',
    columns: { slot: 'of skipped slots: the latest of slot_count' },
  },
]
