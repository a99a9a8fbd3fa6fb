// The stored ports as one simulated server reaches them. One wrapper for every method of every port, so that no call is
// forgotten: how it is made is for the caller to say, see `link.ts`.
import type { StorePorts } from '../../src/ports/store.ts'
import type { MemoryStore } from '../../testing/memory-store/store.ts'

export type Method = (...args: unknown[]) => Promise<unknown>
/** Makes a call of a method by its own rules. */
export type Caller = (name: string, method: Method, args: unknown[]) => Promise<unknown>

/** `store`: the tables behind the ports, which are not wrapped. */
export function wrapPorts(
  { store: _, ...ports }: StorePorts & { store?: MemoryStore },
  call: Caller,
): StorePorts {
  const wrapped = Object.entries(ports).map(([name, port]) => [name, wrapPort(name, port, call)])
  return Object.fromEntries(wrapped)
}

function wrapPort(name: string, port: object, call: Caller): object {
  const wrapped = new Map<string | symbol, unknown>()
  return new Proxy(port, {
    get(target, key) {
      if (!wrapped.has(key)) {
        const value: unknown = Reflect.get(target, key, target)
        const method = typeof value === 'function' ? (value.bind(target) as Method) : null
        const full = `${name}.${String(key)}`
        wrapped.set(key, method === null ? value : (...args: unknown[]) => call(full, method, args))
      }
      return wrapped.get(key)
    },
  })
}
