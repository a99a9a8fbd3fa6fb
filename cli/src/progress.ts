// A bar with counts and the time that is left, on stderr while somebody looks there; silent in a pipe.
import type { Context } from './context.ts'
import { clearLine } from './screen.ts'
import { cut } from './text.ts'
import { writeDuration } from './times.ts'

const barWidth = 24
const drawEveryMs = 100
/** An operation that ends sooner than this needs no bar. */
const patienceMs = 500
/** Before this the time left is a guess that jumps. */
const guessAfterMs = 1_000

export class Progress implements Disposable {
  readonly #stream: Context['io']['stderr']
  readonly #paint: Context['out']['paintTalk']
  readonly #what: string
  readonly #startedMs = performance.now()
  #drawnMs = Number.NEGATIVE_INFINITY

  constructor({ io, out }: Pick<Context, 'io' | 'out'>, what: string) {
    this.#stream = io.stderr
    this.#paint = out.paintTalk
    this.#what = what
  }

  /** `total` null: nobody knows. */
  show(done: number, total: number | null, note = ''): void {
    if (this.#stream.isTTY !== true) return
    const nowMs = performance.now()
    if (nowMs - this.#startedMs < patienceMs) return
    if (nowMs - this.#drawnMs < drawEveryMs && done !== total) return
    this.#drawnMs = nowMs
    const line = writeProgress({ what: this.#what, done, total, note, elapsedMs: nowMs - this.#startedMs })
    this.#stream.write(clearLine + this.#paint(cut(line, (this.#stream.columns ?? 80) - 1), 'busy'))
  }

  [Symbol.dispose](): void {
    if (this.#stream.isTTY === true && this.#drawnMs > 0) this.#stream.write(clearLine)
  }
}

export interface ProgressState {
  what: string
  done: number
  total: number | null
  note: string
  elapsedMs: number
}

export function writeProgress({ what, done, total, note, elapsedMs }: ProgressState): string {
  const tail = note === '' ? '' : `  ${note}`
  if (total === null || total < done) return `${what}  ${done} done${tail}`
  const share = total === 0 ? 1 : done / total
  const filled = Math.round(share * barWidth)
  const bar = '█'.repeat(filled) + '░'.repeat(barWidth - filled)
  const leftMs = done === 0 ? null : (elapsedMs / done) * (total - done)
  const left = leftMs === null || elapsedMs < guessAfterMs ? '' : `  ${writeDuration(leftMs)} left`
  return `${what}  ${bar}  ${done}/${total}  ${Math.floor(share * 100)}%${left}${tail}`
}
