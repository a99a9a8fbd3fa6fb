// Versions of jobs that were claimed or ended lately. A version never changes, so a hit is always right; bounded by
// memory, oldest use first out.
import type { Definition, DefinitionKey, Queue } from '../ports/queue.ts'

const bytesMax = 32 * 1024 * 1024

interface Kept {
  definition: Definition
  bytes: number
}

export class KnownDefinitions {
  readonly #queue: Pick<Queue, 'definitions'>
  readonly #bytesMax: number
  /** By job and version; the least recently used in front. */
  readonly #kept = new Map<string, Kept>()
  #bytes = 0

  constructor(queue: Pick<Queue, 'definitions'>, options: { bytesMax?: number } = {}) {
    this.#queue = queue
    this.#bytesMax = options.bytesMax ?? bytesMax
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Those that are missing are fetched in one statement. The answer knows each of the keys that the store knows. */
  async load(keys: readonly DefinitionKey[]): Promise<(key: DefinitionKey) => Definition | undefined> {
    const found = new Map<string, Definition>()
    const missing = new Map<string, DefinitionKey>()
    for (const key of keys) {
      const name = nameOf(key)
      const kept = this.#kept.get(name)
      if (kept === undefined) {
        missing.set(name, { jobId: key.jobId, version: key.version })
        continue
      }
      this.#kept.delete(name)
      this.#kept.set(name, kept)
      found.set(name, kept.definition)
    }
    if (missing.size > 0) {
      for (const definition of await this.#queue.definitions([...missing.values()])) {
        found.set(nameOf(definition), definition)
        this.#keep(definition)
      }
    }
    return (key) => found.get(nameOf(key))
  }

  #keep(definition: Definition): void {
    const name = nameOf(definition)
    // Two may have fetched it at once.
    this.#drop(name)
    const bytes = JSON.stringify(definition).length
    this.#kept.set(name, { definition, bytes })
    this.#bytes += bytes
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= this.#bytesMax) return
      this.#drop(oldest)
    }
  }

  #drop(name: string): void {
    this.#bytes -= this.#kept.get(name)?.bytes ?? 0
    this.#kept.delete(name)
  }
}

function nameOf({ jobId, version }: DefinitionKey): string {
  return `${jobId} ${version}`
}
