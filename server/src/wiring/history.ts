// The loops that fold and prune history. A process with the role `history` runs them; a scheduler without it stands in
// while no such process is alive. Daily partitions are made by maintenance, not here.

import { FailingLoops } from '../history/failing-loops.ts'
import { RollupFold } from '../history/fold-rollups.ts'
import { StatsFold } from '../history/fold-stats.ts'
import { HistoryDuty } from '../history/history-duty.ts'
import { pruneHistory } from '../history/prune-history.ts'
import type { Step } from '../lib/loop.ts'
import type { Ids } from '../ports/ids.ts'
import { ROLLUP_SOURCES } from '../ports/rollups.ts'
import type { StorePorts } from '../ports/store.ts'
import type { LoopName, StartLoop } from './loops.ts'

export interface HistoryDeps extends Pick<StorePorts, 'rollups' | 'logs' | 'historyProcesses'> {
  ids: Ids
  startLoop: StartLoop
}

export interface RunningHistory {
  /** Whether its loops get on: 'ok', or which of them fails and why. */
  check(): string
  /** Ends the duty. Schedulers take over at once instead of waiting until the last beat is old. */
  leave(): Promise<void>
}

/** `hasRole`: this process has the role `history`; otherwise it is a scheduler. */
export function startHistory(deps: HistoryDeps, { hasRole }: { hasRole: boolean }): RunningHistory {
  const { ids, rollups, logs, historyProcesses, startLoop } = deps
  const duty = new HistoryDuty(historyProcesses, { processId: ids.next(), hasRole })
  const name = hasRole ? 'hold history role' : 'watch history role'
  const failing = new FailingLoops()
  const beats = startLoop(
    name,
    failing.watch(name, () => duty.step()),
  )
  const start = (loop: LoopName, step: Step) => startLoop(loop, failing.watch(loop, duty.guard(step)))
  const stats = new StatsFold(rollups)
  start('fold statistics', () => stats.step())
  for (const source of ROLLUP_SOURCES) {
    const fold = new RollupFold(rollups, source)
    start(`fold rollups: ${source}`, () => fold.step())
  }
  start('fold rollups: day', () => rollups.foldDays())
  start('prune history', () => pruneHistory({ rollups, logs }))
  return {
    check: () => failing.check(),
    async leave() {
      // A beat after `leave` would count this process as alive again.
      await beats[Symbol.asyncDispose]()
      await duty.leave()
    },
  }
}
