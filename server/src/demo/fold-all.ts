// Folds the whole past of a demo at once, so that its dashboards have their numbers from the start.
import { RollupFold } from '../history/fold-rollups.ts'
import { realTimers } from '../lib/time/timers.ts'
import { dayMs } from '../lib/time/units.ts'
import type { Database } from '../postgres/connection/database.ts'
import { isFolded } from '../postgres/history/demo-history.ts'
import { PostgresRollups } from '../postgres/history/rollups.ts'

/** While the loops of the server hold every mark. */
const busyMs = 20

/** The loops of the server would come to all of it too, in their time. */
export async function foldAll(database: Database): Promise<void> {
  const rollups = new PostgresRollups(database)
  const folds = [new RollupFold(rollups, 'tenant'), new RollupFold(rollups, 'job')]
  while (!(await isFolded(database))) {
    // By the day: the loop takes small steps, because it works beside others.
    const stats = await rollups.foldStats(dayMs)
    const steps = await Promise.all(folds.map((fold) => fold.step()))
    if (stats === null && !steps.includes('more')) await realTimers.wait(busyMs)
  }
}
