// Group commit: items that arrive during a write are written together by the next one. No timer: alone, an item goes at
// once; under load groups grow on their own. Each item has an answer of its own, given after the commit.
import { Unavailable } from './unavailable.ts'

export interface GroupCommitOptions<Item> {
  /** Items in one write, at most. */
  itemsMax: number
  /** The weight of an item, such as its bytes, and the maximum weight of a write. */
  weigh: (item: Item) => number
  weightMax: number
  /** Items that wait, at most; more are refused. */
  waitingMax: number
}

/** An answer that is still to come does not hold up the others. */
type GroupWrite<Item, Answer> = (items: readonly Item[]) => Promise<readonly (Answer | Promise<Answer>)[]>

interface Waiting<Item, Answer> {
  item: Item
  weight: number
  resolve: (answer: Answer | Promise<Answer>) => void
  reject: (error: unknown) => void
}

export class GroupCommit<Item, Answer> {
  readonly #write: GroupWrite<Item, Answer>
  readonly #options: GroupCommitOptions<Item>
  #waiting: Waiting<Item, Answer>[] = []
  #writing = false

  /** `write` answers for each item, in their order. */
  constructor(write: GroupWrite<Item, Answer>, options: GroupCommitOptions<Item>) {
    this.#write = write
    this.#options = options
  }

  add(item: Item): Promise<Answer> {
    if (this.#waiting.length >= this.#options.waitingMax)
      return Promise.reject(new Unavailable('the queue of writes to the database'))
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    this.#waiting.push({ item, weight: this.#options.weigh(item), resolve, reject })
    if (!this.#writing) void this.#writeAll()
    return promise
  }

  async #writeAll(): Promise<void> {
    this.#writing = true
    while (this.#waiting.length > 0) await this.#writeGroup(this.#take())
    this.#writing = false
  }

  /** The next items that fit, at least one. */
  #take(): Waiting<Item, Answer>[] {
    const { itemsMax, weightMax } = this.#options
    let count = 0
    let weight = 0
    for (const one of this.#waiting) {
      weight += one.weight
      if (count === itemsMax || (count > 0 && weight > weightMax)) break
      count += 1
    }
    return this.#waiting.splice(0, count)
  }

  /** 'away': any further write would fail as well. */
  async #writeGroup(group: readonly Waiting<Item, Answer>[]): Promise<'written' | 'away'> {
    try {
      const answers = await this.#write(group.map(({ item }) => item))
      group.forEach(({ resolve }, index) => {
        resolve(answers[index]!)
      })
      return 'written'
    } catch (error) {
      // An unreachable database may still have committed the group: writing again would write twice.
      const isAway = error instanceof Unavailable
      if (group.length === 1 || isAway) for (const { reject } of group) reject(error)
      // A single item is at fault; written alone, each gets its own outcome.
      else await this.#writeEach(group)
      return isAway ? 'away' : 'written'
    }
  }

  async #writeEach(group: readonly Waiting<Item, Answer>[]): Promise<void> {
    for (const [index, one] of group.entries()) {
      if ((await this.#writeGroup([one])) === 'written') continue
      for (const { reject } of group.slice(index + 1)) reject(new Unavailable('the database'))
      return
    }
  }
}
