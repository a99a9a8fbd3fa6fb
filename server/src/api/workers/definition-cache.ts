// Versions of jobs that were claimed or ended lately. A version never changes, so a hit is always right; bounded by
// memory.
import { RecentMap } from '../../lib/recent-map.ts'
import type { Definition, DefinitionKey, Queue } from '../../ports/queue.ts'

const bytesMax = 32 * 1024 * 1024

interface Kept {
  definition: Definition
  bytes: number
}

export class DefinitionCache {
  readonly #queue: Pick<Queue, 'definitions'>
  /** By job and version. */
  readonly #kept: RecentMap<Kept>

  constructor(queue: Pick<Queue, 'definitions'>, options: { bytesMax?: number } = {}) {
    this.#queue = queue
    this.#kept = new RecentMap({ weigh: ({ bytes }) => bytes, weightMax: options.bytesMax ?? bytesMax })
  }

  get bytes(): number {
    return this.#kept.weight
  }

  /** Missing versions are fetched in one statement. The answer knows each of the keys that the store knows. */
  async load(keys: readonly DefinitionKey[]): Promise<(key: DefinitionKey) => Definition | undefined> {
    const found = new Map<string, Definition>()
    const missing = new Map<string, DefinitionKey>()
    for (const key of keys) {
      const name = nameOf(key)
      const kept = this.#kept.get(name)
      if (kept === undefined) missing.set(name, { jobId: key.jobId, version: key.version })
      else found.set(name, kept.definition)
    }
    if (missing.size > 0) {
      for (const definition of await this.#queue.definitions([...missing.values()])) {
        found.set(nameOf(definition), definition)
        this.#kept.set(nameOf(definition), { definition, bytes: JSON.stringify(definition).length })
        this.#kept.prune()
      }
    }
    return (key) => found.get(nameOf(key))
  }
}

function nameOf({ jobId, version }: DefinitionKey): string {
  return `${jobId} ${version}`
}
