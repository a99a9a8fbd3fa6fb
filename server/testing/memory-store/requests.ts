// One request, one effect, in memory. Writes that `work` made before it failed cannot be undone here, and so neither
// can a dry run.
import { hourMs } from '../../src/lib/time/units.ts'
import type { Done, Once, Requests, RequestTerms, RunOutcome, WriteStores } from '../../src/ports/requests.ts'
import type { RequestRow } from './rows.ts'
import type { MemoryStore } from './store.ts'

const keptMs = 24 * hourMs

export class MemoryRequests implements Requests {
  readonly #store: MemoryStore
  readonly #stores: WriteStores

  constructor(store: MemoryStore, stores: WriteStores) {
    this.#store = store
    this.#stores = stores
  }

  async run<T>(
    { once, dryRun }: RequestTerms,
    work: (stores: WriteStores) => Promise<Done<T>>,
  ): Promise<RunOutcome<T>> {
    if (dryRun) throw new Error('a dry run is undone, which needs PostgreSQL')
    if (once === null) return { kind: 'done', value: (await work(this.#stores)).value }
    const { requests } = this.#store
    const name = `${once.tenantId} ${once.key}`
    const earlier = requests.get(name)
    if (earlier !== undefined && !this.#isOld(earlier)) return answerOf(earlier, once)
    const row: RequestRow = {
      fingerprint: once.fingerprint.toHex(),
      createdAt: this.#store.now(),
      reply: null,
    }
    requests.set(name, row)
    try {
      const { value, reply } = await work(this.#stores)
      if (reply === null) requests.delete(name)
      row.reply = structuredClone(reply)
      row.createdAt = this.#store.now()
      return { kind: 'done', value }
    } catch (error) {
      requests.delete(name)
      throw error
    }
  }

  async prune(limit: number): Promise<number> {
    const { requests } = this.#store
    const old = [...requests].filter(([, row]) => this.#isOld(row)).slice(0, limit)
    for (const [name] of old) requests.delete(name)
    return old.length
  }

  #isOld({ reply, createdAt }: RequestRow): boolean {
    return reply !== null && createdAt < this.#store.now() - keptMs
  }
}

function answerOf({ reply, fingerprint }: RequestRow, once: Once): RunOutcome<never> {
  if (reply === null) return { kind: 'in_flight' }
  if (fingerprint !== once.fingerprint.toHex()) return { kind: 'other_request' }
  return { kind: 'repeated', reply: structuredClone(reply) }
}
