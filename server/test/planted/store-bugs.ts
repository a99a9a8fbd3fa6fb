// Bugs in code that only PostgreSQL runs: for the chaos checker.
import type { PlantedBug } from './planted-bug.ts'

export const STORE_BUGS: readonly PlantedBug[] = [
  {
    name: 'buffered slot not written',
    file: 'postgres/scheduling/fire-slots.sql.ts',
    find: "WHERE answer IN ('fired', 'buffered', 'overlap', 'misfire', 'exclusion', 'quota')",
    replace: "WHERE answer IN ('fired', 'overlap', 'misfire', 'exclusion', 'quota')",
    wrong: 'the cursor moves past a slot that should wait, and neither the slot nor a skip is written',
  },
  {
    name: 'retry woken at once',
    file: 'postgres/queue/maintenance.sql.ts',
    find: "WHERE state = 'retrying' AND ready_at <= (SELECT clock_timestamp())",
    replace: "WHERE state = 'retrying' AND ready_at IS NOT NULL",
    wrong: 'the loop that wakes due retries wakes every retry, including retries that are not due yet',
  },
  {
    name: 'key limit not counted',
    file: 'postgres/queue/maintenance.sql.ts',
    find: "l.concurrency_key = x.k AND l.state <> 'waiting') AS held",
    replace: "l.concurrency_key = x.k AND l.state = 'awaiting') AS held",
    wrong: 'released executions do not count against the limit of their key',
  },
  {
    name: 'reclaim drops held executions',
    file: 'postgres/queue/reclaim.sql.ts',
    find: 'WHERE h.cancel IS NULL`',
    replace: 'WHERE h.cancel IS NULL LIMIT 1`',
    wrong: 'all executions in the batches of a dead worker are recorded as lost, but only one runs again',
  },
]
