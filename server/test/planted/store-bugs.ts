// Bugs in code that only PostgreSQL runs: for the chaos checker.
import type { PlantedBug } from './planted-bug.ts'

export const STORE_BUGS: readonly PlantedBug[] = [
  {
    name: 'slot that may wait is forgotten',
    file: 'postgres/scheduling/fire-slots.sql.ts',
    find: "WHERE answer IN ('fired', 'buffered', 'overlap', 'misfire', 'exclusion')",
    replace: "WHERE answer IN ('fired', 'overlap', 'misfire', 'exclusion')",
    wrong: 'the cursor moves past a slot that was to wait, and neither it nor a skip is written',
  },
  {
    name: 'retry woken at once',
    file: 'postgres/queue/maintenance.sql.ts',
    find: "WHERE state = 'retrying' AND ready_at <= (SELECT clock_timestamp())",
    replace: "WHERE state = 'retrying' AND ready_at IS NOT NULL",
    wrong: 'whoever wakes one retry wakes all of them, also those whose time has not come',
  },
  {
    name: 'key holds nobody back',
    file: 'postgres/queue/maintenance.sql.ts',
    find: "l.concurrency_key = x.k AND l.state <> 'waiting') AS held",
    replace: "l.concurrency_key = x.k AND l.state = 'awaiting') AS held",
    wrong: 'what has been let go does not count against the limit of its key',
  },
  {
    name: 'reclaim drops what was held',
    file: 'postgres/queue/reclaim.sql.ts',
    find: 'WHERE h.cancel IS NULL`',
    replace: 'WHERE h.cancel IS NULL LIMIT 1`',
    wrong:
      'of the executions in the batches of a dead worker all are recorded as lost, and only one runs again',
  },
]
