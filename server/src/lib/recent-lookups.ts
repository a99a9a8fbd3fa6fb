// Answers of a lookup, remembered for a moment. Misses are remembered apart, so that no flood of wrong keys evicts the
// right ones; concurrent callers for the same key wait for the same answer.
import type { Clock } from '../ports/clock.ts'

export interface RecentLookupsOptions {
  /** How old an answer may be, counted from when it was asked for. */
  ageMsMax: number
  /** The same for misses. */
  absentAgeMsMax: number
  /** Of each of the two. */
  entriesMax: number
}

interface Answer<V> {
  value: V | null
  askedMs: number
}

export class RecentLookups<V> {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #options: RecentLookupsOptions
  /** By key, oldest first. */
  readonly #found = new Map<string, Answer<V>>()
  readonly #absent = new Map<string, Answer<V>>()
  readonly #underWay = new Map<string, Promise<V | null>>()

  constructor(clock: Pick<Clock, 'monotonicMs'>, options: RecentLookupsOptions) {
    this.#clock = clock
    this.#options = options
  }

  /** How many answers are remembered. */
  get size(): number {
    return this.#found.size + this.#absent.size
  }

  async get(key: string, find: () => Promise<V | null>): Promise<V | null> {
    const { ageMsMax, absentAgeMsMax } = this.#options
    const found = this.#fresh(this.#found, key, ageMsMax) ?? this.#fresh(this.#absent, key, absentAgeMsMax)
    if (found !== null) return found.value
    return this.#underWay.get(key) ?? this.#look(key, find)
  }

  /** Lookups in flight are not remembered either: they may have been read before the change. */
  forget(isConcerned: (value: V) => boolean): void {
    for (const [key, { value }] of this.#found) if (isConcerned(value!)) this.#found.delete(key)
    this.#underWay.clear()
  }

  #look(key: string, find: () => Promise<V | null>): Promise<V | null> {
    const askedMs = this.#clock.monotonicMs()
    const lookup = find().then(
      (value) => {
        if (this.#end(key, lookup)) this.#remember(key, { value, askedMs })
        return value
      },
      (error) => {
        this.#end(key, lookup)
        throw error
      },
    )
    this.#underWay.set(key, lookup)
    return lookup
  }

  #end(key: string, lookup: Promise<V | null>): boolean {
    return this.#underWay.get(key) === lookup && this.#underWay.delete(key)
  }

  #remember(key: string, answer: Answer<V>): void {
    const answers = answer.value === null ? this.#absent : this.#found
    if (answers.size >= this.#options.entriesMax) answers.delete(answers.keys().next().value!)
    answers.set(key, answer)
  }

  #fresh(answers: Map<string, Answer<V>>, key: string, ageMsMax: number): Answer<V> | null {
    const answer = answers.get(key)
    if (answer === undefined) return null
    if (this.#clock.monotonicMs() - answer.askedMs < ageMsMax) return answer
    answers.delete(key)
    return null
  }
}
