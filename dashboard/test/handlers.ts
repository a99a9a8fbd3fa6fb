// Handlers that the journeys run, by `--handlers`.
import { setTimeout as wait } from 'node:timers/promises'
import { defineJob } from '@carillon/sdk'

const linesMax = 3_000

/** Logs a line and says how far it is, every tenth of a second, until it is cancelled. */
export const copyRows = defineJob({
  key: 'copy-rows',
  async run(_payload, { log, progress, signal }) {
    for (let row = 1; row <= linesMax; row++) {
      log.info(`Copied row ${row} of ${linesMax}`)
      progress(row / linesMax, `row ${row} of ${linesMax}`)
      await wait(100, undefined, { signal })
    }
    return { rows: linesMax }
  },
})

/** Answers, logs and fails with any text it is given. */
export const repeatText = defineJob({
  key: 'repeat-text',
  run(payload: { text: string; fails?: boolean }, { log }) {
    log.info(payload.text)
    if (payload.fails === true) throw new Error(payload.text)
    return { answer: payload.text }
  },
})

const triedRuns = new Set<string>()

/** Fails the first time in each graph run. */
export const loadRows = defineJob({
  key: 'load-rows',
  run(_payload, { graphRunId }) {
    const run = graphRunId ?? ''
    if (triedRuns.has(run)) return { rows: 1 }
    triedRuns.add(run)
    throw new Error('The table is locked')
  },
})
