// Gathers the refusals of checks that do not depend on each other, so that a request is told all of them at once.
import { ApiError } from './api-error.ts'
import { joinRefusals } from './invalid-request.ts'

export class Refusals {
  readonly #refusals: ApiError[] = []

  get list(): readonly ApiError[] {
    return this.#refusals
  }

  add(refusal: ApiError): void {
    this.#refusals.push(refusal)
  }

  /** The result of a check that throws its refusal; undefined: it was refused, and checks that need it must not run. */
  attempt<T>(check: () => T): T | undefined {
    try {
      return check()
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      this.#refusals.push(error)
      return undefined
    }
  }

  /** The first refusal, with the fields of all of them. */
  throwAny(): void {
    const [first, ...rest] = this.#refusals
    if (first !== undefined) throw joinRefusals([first, ...rest])
  }
}
