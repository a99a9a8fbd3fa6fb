// The handlers of the demo world, run like the handlers of `--handlers FILE`: progress and log lines that move, one
// that is flaky, one that is broken, and one that fails the first time in each graph run.
import { defineJob } from '../../../sdk/src/define-job.ts'
import { NonRetriableError } from '../../../sdk/src/job-errors.ts'
import { realTimers } from '../lib/time/timers.ts'
import { drawsOf } from './random.ts'

const chaptersMax = 42
const documentsPerChapter = 1_143

export const rebuildSearchIndex = defineJob({
  key: 'rebuild-search-index',
  async run(_payload, { log, progress, signal, executionId }) {
    const draw = drawsOf(1, executionId)
    log.info('Reading the catalogue')
    for (let chapter = 1; chapter <= chaptersMax && !signal.aborted; chapter++) {
      const documents = Math.round(documentsPerChapter * (0.8 + 0.4 * draw()))
      await realTimers.wait(950, signal)
      progress(chapter / chaptersMax, `chapter ${chapter} of ${chaptersMax}`)
      if (draw() < 0.08) log.warn(`Chapter ${chapter}: ${Math.ceil(draw() * 9)} documents without a title`)
      else log.info(`Chapter ${chapter}: ${documents} documents`)
    }
    signal.throwIfAborted()
    log.info('The new index takes over')
    return { documents: chaptersMax * documentsPerChapter }
  },
})

/** Of attempts. */
const flakyShare = 0.3

export const syncInventory = defineJob({
  key: 'sync-inventory',
  async run(_payload, { executionId, attempt, log, progress, signal }) {
    const draw = drawsOf(attempt, executionId)
    const isCut = draw() < flakyShare
    const rows = 200 + Math.floor(draw() * 1_000)
    for (let step = 1; step <= 4; step++) {
      await realTimers.wait(400, signal)
      progress(step / 4)
      log.info(`${Math.round((rows * step) / 4)} rows`)
      if (isCut && step === 2) throw new Error(`The stock service closed the connection after ${rows} rows`)
    }
    return { rows }
  },
})

export const renderCertificates = defineJob({
  key: 'render-certificates',
  run(_payload, { log }) {
    log.error('No glyphs for "Garamond"')
    throw new Error('The font "Garamond" is not installed')
  },
})

const runsRemembered = 1_000
const runsSeen = new Set<string>()

export const loadWarehouse = defineJob({
  key: 'load-warehouse',
  async run(_payload, { graphRunId, log, progress, signal }) {
    for (let part = 1; part <= 3; part++) {
      await realTimers.wait(300, signal)
      progress(part / 10, `part ${part} of 10`)
      log.info(`Loaded part ${part} of 10`)
    }
    const isFirst = graphRunId !== null && !runsSeen.has(graphRunId)
    if (isFirst) {
      if (runsSeen.size === runsRemembered) runsSeen.clear()
      runsSeen.add(graphRunId)
      throw new NonRetriableError('The table "sales_2026" is locked by a migration; resume when it is over')
    }
    log.info('Loaded the rest')
    return { parts: 10 }
  },
})
