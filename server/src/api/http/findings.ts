// The mistakes of one request, bounded: one for each place, the first that was found there.
import type { FieldError } from '@carillon/contract/problem.ts'

/** Errors that one answer lists. */
export const listedMax = 20
/** Counting stops here. */
export const countedMax = 1_000

export class Findings {
  /** In the order in which they were found, at most `listedMax`. */
  readonly errors: FieldError[] = []
  /** Of all errors, listed or not. */
  readonly #places = new Set<string>()

  get count(): number {
    return this.#places.size
  }

  get isFull(): boolean {
    return this.#places.size >= countedMax
  }

  add(error: FieldError): void {
    this.#note(error.pointer, error)
  }

  addAll(other: Findings): void {
    let at = 0
    for (const place of other.#places) this.#note(place, other.errors[at++])
  }

  /** Whether anything is wrong at this pointer or below it. */
  isWrong(pointer: string): boolean {
    for (const place of this.#places) if (place === pointer || place.startsWith(`${pointer}/`)) return true
    return false
  }

  #note(place: string, error: FieldError | undefined): void {
    if (this.isFull || this.#places.has(place)) return
    this.#places.add(place)
    if (error !== undefined && this.errors.length < listedMax) this.errors.push(error)
  }
}

/** Thrown by the validator of a part of a request. */
export class SchemaRefusal extends Error {
  readonly findings: Findings
  /** The refused part, as Fastify names it. */
  readonly part: string

  constructor(findings: Findings, part: string) {
    super('The request is not valid.')
    this.findings = findings
    this.part = part
  }
}
