/** On an object of the store, by name. */
type Replaceable = Record<string, (...args: never[]) => unknown>

/** Calls `look` before each call of a method. */
export function beforeCall<T extends object>(
  of: T,
  name: keyof T & string,
  look: (...args: never[]) => void,
): void {
  const target = of as unknown as Replaceable
  const method = target[name]!.bind(of)
  target[name] = (...args: never[]) => {
    look(...args)
    return method(...args)
  }
}
