// Wake-ups of one process: its own loops hear them at once, the other processes by a message. The first hint goes out
// at once, then at most one message every few milliseconds carries all topics: a message for each row would serialise
// commits.
import type { Timer, Timers } from '../../ports/timers.ts'
import type { Wakeup, WakeupSource, WakeupTopic } from '../../ports/wakeup.ts'

const coalesceMs = 50

export class CoalescingWakeup implements Wakeup, WakeupSource {
  readonly #timers: Timers
  readonly #publish: (topics: readonly WakeupTopic[]) => Promise<void>
  readonly #listeners = new Map<WakeupTopic, (() => void)[]>()
  readonly #due = new Set<WakeupTopic>()
  /** While it runs, the due topics wait for its end. */
  #timer: Timer | null = null

  /** `publish` notifies the other processes; a message that cannot be sent is lost, and must not reject. */
  constructor(timers: Timers, publish: (topics: readonly WakeupTopic[]) => Promise<void>) {
    this.#timers = timers
    this.#publish = publish
  }

  on(topic: WakeupTopic, listener: () => void): void {
    this.#listeners.set(topic, [...(this.#listeners.get(topic) ?? []), listener])
  }

  send(topic: WakeupTopic): void {
    this.hear([topic])
    this.#due.add(topic)
    if (this.#timer === null) this.#publishDue()
  }

  /** Wakes the loops of this process. */
  hear(topics: readonly WakeupTopic[]): void {
    for (const topic of topics) for (const listener of this.#listeners.get(topic) ?? []) listener()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#timer?.cancel()
  }

  #publishDue(): void {
    const topics = [...this.#due]
    this.#due.clear()
    const gathered = Promise.withResolvers<void>()
    const published = this.#publish(topics)
    this.#timer = this.#timers.schedule(coalesceMs, gathered.resolve)
    // One message at a time: topics that come meanwhile are sent together.
    void Promise.all([published, gathered.promise]).then(() => {
      this.#timer = null
      if (this.#due.size > 0) this.#publishDue()
    })
  }
}
