// While a seed runs, every use of the host's clocks, timers or randomness outside the injected world throws. So a
// server's wall clock may show any time, and one seed is one run.
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'

/** Objects and the names on them that nobody may use. `setImmediate` stays: it is how virtual time goes on. */
const FORBIDDEN: readonly (readonly [object, readonly string[]])[] = [
  [Date, ['now']],
  [performance, ['now']],
  [process, ['hrtime']],
  [Math, ['random']],
  [globalThis, ['setTimeout', 'setInterval', 'fetch']],
  [globalThis.crypto, ['getRandomValues', 'randomUUID']],
  [crypto, ['randomBytes', 'randomInt', 'randomUUID', 'randomFillSync']],
  [AbortSignal, ['timeout']],
]

/** Ends when the returned object is disposed. One at a time. */
export function forbidAmbient(): Disposable {
  const undo: (() => void)[] = []
  for (const [object, names] of FORBIDDEN) for (const name of names) undo.push(forbid(object, name))
  undo.push(forbidDates())
  syncBuiltinESMExports()
  return {
    [Symbol.dispose]() {
      for (const one of undo) one()
      syncBuiltinESMExports()
    },
  }
}

function forbid(object: object, name: string): () => void {
  const before = Object.getOwnPropertyDescriptor(object, name)
  const value = () => {
    throw new Error(`${name} was used in a simulation`)
  }
  Object.defineProperty(object, name, { value, configurable: true, writable: true, enumerable: true })
  return () => {
    if (before === undefined) Reflect.deleteProperty(object, name)
    else Object.defineProperty(object, name, before)
  }
}

/** `new Date()` reads the host's clock; `new Date(ms)` does not. */
function forbidDates(): () => void {
  const RealDate = globalThis.Date
  globalThis.Date = new Proxy(RealDate, {
    construct(target, args: number[]) {
      if (args.length === 0) throw new Error('new Date() was used in a simulation')
      return new target(...(args as [number]))
    },
  })
  return () => {
    globalThis.Date = RealDate
  }
}
