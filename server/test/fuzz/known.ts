// Remembers ids, cursors, keys and versions from earlier responses, so that later requests refer to things that exist.
import type { Dice } from './dice.ts'
import type { Operation } from './document.ts'
import { isObject } from './garbage.ts'

/** Of each kind the latest are kept: the oldest are the likeliest to be gone. */
const keptMax = 60
const versionsMax = 2_000

export class Known {
  readonly #values = new Map<string, string[]>()
  readonly #versions = new Map<string, string>()
  readonly #underWay: string[]

  /** `underWay`: executions for reports on their first attempts. */
  constructor(underWay: readonly string[] = []) {
    this.#underWay = [...underWay]
  }

  /** From the answer to a request that was taken. */
  learn(
    operation: Operation,
    request: { parameters: Record<string, string>; path: string },
    answer: { value: unknown; etag: string | undefined },
  ): void {
    for (const [name, value] of Object.entries(request.parameters)) {
      this.#keep(operation, name, value)
      // Under the name that other objects use for it: a schedule names a `calendar`.
      if (name === 'name') this.#add(singular(partOf(operation)), value)
    }
    this.#walk(operation, answer.value)
    if (answer.etag === undefined) return
    if (this.#versions.size >= versionsMax) this.#versions.clear()
    this.#versions.set(request.path.split('?')[0]!, answer.etag)
  }

  /** A value of this name, preferably one from the same part of the API. */
  find(operation: Operation, name: string, dice: Dice): string | undefined {
    if (name === 'cursor') return this.latest(`${operation.path} cursor`, dice)
    if (operation.tokened && name === 'execution_id' && this.#underWay.length > 0) return this.#underWay.pop()
    const part = partOf(operation)
    const own = [`${part} ${name}`, ...(name === 'id' ? [`${part} ${singular(part)}_id`] : [])]
    const keys = dice.chance(0.75) ? [...own, name] : [name, ...own]
    for (const key of keys) {
      const value = this.latest(key, dice)
      if (value !== undefined) return value
    }
    return undefined
  }

  /** Of the resource at the path, or of the one that the last part of the path acts on. */
  versionOf(path: string): string | undefined {
    return this.#versions.get(path) ?? this.#versions.get(path.replace(/\/[^/]*$/, ''))
  }

  #walk(operation: Operation, value: unknown): void {
    if (Array.isArray(value)) for (const item of value.slice(0, 5)) this.#walk(operation, item)
    if (!isObject(value)) return
    for (const [name, child] of Object.entries(value)) {
      if (name === 'next_cursor' && typeof child === 'string') this.#add(`${operation.path} cursor`, child)
      else if (isTelling(name) && typeof child === 'string') this.#keep(operation, name, child)
      else this.#walk(operation, child)
    }
  }

  #keep(operation: Operation, name: string, value: string): void {
    this.#add(`${partOf(operation)} ${name}`, value)
    this.#add(name, value)
    // A redrive or a retry answers with the id of the execution it created.
    if (name.startsWith('new_')) this.#keep(operation, name.slice('new_'.length), value)
  }

  #add(key: string, value: string): void {
    const values = this.#values.get(key) ?? []
    if (value === '' || values.includes(value)) return
    values.push(value)
    if (values.length > keptMax) values.shift()
    this.#values.set(key, values)
  }

  /** One of the latest under exactly this key: `part name`, `path cursor` or a bare name. */
  latest(key: string, dice: Dice): string | undefined {
    const values = this.#values.get(key)
    return values === undefined ? undefined : dice.pick(values)
  }
}

function isTelling(name: string): boolean {
  return name === 'id' || name === 'key' || name.endsWith('_id') || name.endsWith('_key')
}

/** `dead-letters` of `/api/v1/dead-letters/{execution_id}`. */
function partOf({ path }: Operation): string {
  return path.replace(/^\/api\/v1/, '').split('/')[1] ?? ''
}

function singular(part: string): string {
  return part.replaceAll('-', '_').replace(/s$/, '')
}
