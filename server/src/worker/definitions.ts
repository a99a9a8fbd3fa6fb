// Job versions that were run lately, prepared for running. A version never changes, so a hit is always right; bounded
// by memory, oldest use first out.
import type { Definition, DefinitionKey, Queue } from '../ports/queue.ts'
import { type Prepared, prepare } from './prepare.ts'

const bytesMax = 64 * 1024 * 1024

export class Definitions {
  readonly #queue: Pick<Queue, 'definitions'>
  readonly #programVersion: string
  /** By job and version; the least recently used in front. */
  readonly #prepared = new Map<string, Prepared>()
  #bytes = 0

  constructor(queue: Pick<Queue, 'definitions'>, programVersion: string) {
    this.#queue = queue
    this.#programVersion = programVersion
  }

  /** Fetches those that are missing, in one statement. */
  async load(keys: readonly DefinitionKey[]): Promise<void> {
    const missing = new Map<string, DefinitionKey>()
    for (const key of keys) {
      const name = nameOf(key.jobId, key.version)
      if (!this.#prepared.has(name)) missing.set(name, key)
    }
    if (missing.size === 0) return
    for (const definition of await this.#queue.definitions([...missing.values()])) this.#keep(definition)
  }

  /** One that came by itself. */
  add(definition: Definition): void {
    if (!this.#prepared.has(nameOf(definition.jobId, definition.version))) this.#keep(definition)
  }

  /** After `load`; undefined only when more was loaded at once than is kept. */
  get(jobId: string, version: number): Prepared | undefined {
    const name = nameOf(jobId, version)
    const prepared = this.#prepared.get(name)
    if (prepared === undefined) return undefined
    this.#prepared.delete(name)
    this.#prepared.set(name, prepared)
    return prepared
  }

  #keep(definition: Definition): void {
    const prepared = prepare(definition, this.#programVersion)
    this.#prepared.set(nameOf(definition.jobId, definition.version), prepared)
    this.#bytes += prepared.bytes
  }

  /** Between two claims, so that nothing just loaded is dropped before it is used. */
  prune(): void {
    for (const [name, { bytes }] of this.#prepared) {
      if (this.#bytes <= bytesMax) return
      this.#prepared.delete(name)
      this.#bytes -= bytes
    }
  }
}

function nameOf(jobId: string, version: number): string {
  return `${jobId} ${version}`
}
