// Refuses options that do not exist: a misspelt one would be ignored, and the program would run without it.
import { didYouMean } from '../../server/src/lib/did-you-mean.ts'

/** Every option of a type; the compiler sees to it that none is missing. */
export type OptionNames<Options> = Readonly<Record<keyof Options & string, true>>

/** `of`: the subject of the sentence, such as `createWorker`. */
export function checkOptionNames(of: string, given: object, known: Readonly<Record<string, true>>): void {
  if (typeof given !== 'object' || given === null) throw new TypeError(`${of} takes an object of options.`)
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(known, name))
  if (unknown === undefined) return
  const near = didYouMean(unknown, Object.keys(known))
  throw new TypeError(`${of} has no option ${unknown}.${near}`)
}
