// Job versions that were run lately, prepared for running. A version never changes, so a hit is always right; bounded
// by memory.
import { RecentMap } from '../lib/recent-map.ts'
import type { Definition, DefinitionKey, Queue } from '../ports/queue.ts'
import { type Prepared, prepare } from './prepare.ts'

const bytesMax = 64 * 1024 * 1024

export class Definitions {
  readonly #queue: Pick<Queue, 'definitions'>
  readonly #programVersion: string
  /** By job and version. */
  readonly #prepared = new RecentMap<Prepared>({ weigh: ({ bytes }) => bytes, weightMax: bytesMax })

  constructor(queue: Pick<Queue, 'definitions'>, programVersion: string) {
    this.#queue = queue
    this.#programVersion = programVersion
  }

  /** Fetches the missing definitions, in one statement. */
  async load(keys: readonly DefinitionKey[]): Promise<void> {
    const missing = new Map<string, DefinitionKey>()
    for (const key of keys) {
      const name = nameOf(key.jobId, key.version)
      if (!this.#prepared.has(name)) missing.set(name, key)
    }
    if (missing.size === 0) return
    for (const definition of await this.#queue.definitions([...missing.values()])) this.#keep(definition)
  }

  /** Adds a definition that came with a claim. */
  add(definition: Definition): void {
    if (!this.#prepared.has(nameOf(definition.jobId, definition.version))) this.#keep(definition)
  }

  /** Only after `load`. */
  get(jobId: string, version: number): Prepared | undefined {
    return this.#prepared.get(nameOf(jobId, version))
  }

  /** Between two claims, so that nothing just loaded is dropped before it is used. */
  prune(): void {
    this.#prepared.prune()
  }

  #keep(definition: Definition): void {
    this.#prepared.set(
      nameOf(definition.jobId, definition.version),
      prepare(definition, this.#programVersion),
    )
  }
}

function nameOf(jobId: string, version: number): string {
  return `${jobId} ${version}`
}
