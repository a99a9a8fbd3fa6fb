// Folds the records of a single source into the dashboard figures, a bounded span in each step. The span follows the
// load: longer while steps are small, shorter after a large step, and shortest after a failed step.
import { dayMs } from '../lib/time/units.ts'
import type { RollupSource, Rollups } from '../ports/rollups.ts'

export const foldRollupsEveryMs = 2_000
export const foldDaysEveryMs = 60_000

export interface RollupFoldOptions {
  /** How far a fold stays behind the clock, besides transactions that are still open. Default 1,000. */
  lagMs?: number
}

/** Of the record in one step, at first; after a step that failed, which may have been too large, a second. */
const spanMsFirst = 10_000
const spanMsMin = 1_000
/** After a month without a server there is a month without rows to pass over. */
const spanMsMax = dayMs

/** After a step with so many rows the next one waits for `busyMs` of the record: each number is written less often then. */
const busyRows = 2_000

/** Where nothing is recorded the mark is moved so often: an idle server writes nothing. */
const idleMs = 10_000

interface Pace {
  /** The shortest span of a busy source. */
  busyMs: number
  /** A step that folded fewer rows could have gone further; one that folded more has taken too long. */
  fewRows: number
  manyRows: number
}

const paces: Readonly<Record<RollupSource, Pace>> = {
  tenant: { busyMs: 5_000, fewRows: 50_000, manyRows: 200_000 },
  // With very many jobs each row is of another one, and to write them all takes long however few attempts there are.
  job: { busyMs: 60_000, fewRows: 200_000, manyRows: 700_000 },
  health: { busyMs: 5_000, fewRows: 50_000, manyRows: 200_000 },
  skip: { busyMs: 5_000, fewRows: 5_000, manyRows: 20_000 },
}

export class RollupFold {
  readonly #rollups: Pick<Rollups, 'fold'>
  readonly #source: RollupSource
  readonly #lagMs: number
  #spanMs = spanMsFirst
  #leastMs = 1

  constructor(
    rollups: Pick<Rollups, 'fold'>,
    source: RollupSource,
    { lagMs = 1_000 }: RollupFoldOptions = {},
  ) {
    this.#rollups = rollups
    this.#source = source
    this.#lagMs = lagMs
  }

  async step(): Promise<'more' | 'idle'> {
    const [spanMs, leastMs] = [this.#spanMs, this.#leastMs]
    ;[this.#spanMs, this.#leastMs] = [spanMsMin, 1]
    const folded = await this.#rollups.fold(this.#source, { spanMs, leastMs, idleMs, lagMs: this.#lagMs })
    ;[this.#spanMs, this.#leastMs] = [spanMs, leastMs]
    if (folded === null) return 'idle'
    const { busyMs, fewRows, manyRows } = paces[this.#source]
    this.#leastMs = folded.recorded >= busyRows ? busyMs : 1
    if (folded.recorded < fewRows) this.#spanMs = Math.min(spanMs * 2, spanMsMax)
    else if (folded.recorded > manyRows) this.#spanMs = Math.max(Math.floor(spanMs / 2), spanMsMin)
    return folded.spanMs >= spanMs ? 'more' : 'idle'
  }
}
