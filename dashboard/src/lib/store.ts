// A value that the whole page shares: read it, set it, and components follow.
import { useSyncExternalStore } from 'react'

export interface Store<Value> {
  get(): Value
  set(value: Value): void
  subscribe(listener: () => void): () => void
}

export function createStore<Value>(initial: Value): Store<Value> {
  let current = initial
  const listeners = new Set<() => void>()
  return {
    get: () => current,
    set(value) {
      if (Object.is(value, current)) return
      current = value
      for (const listener of [...listeners]) listener()
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** One of a closed set of texts, kept in this browser. */
export function createChoice<const Value extends string>(
  name: string,
  values: readonly Value[],
  initial: Value,
): Store<Value> {
  const key = `carillon.${name}`
  const kept = readKept(key)
  const store = createStore<Value>(values.find((value) => value === kept) ?? initial)
  return {
    ...store,
    set(value) {
      store.set(value)
      keep(key, value)
    },
  }
}

export function useStore<Value>(store: Store<Value>): Value {
  return useSyncExternalStore(store.subscribe, store.get)
}

// A browser may forbid storage; the page works without it.
export function readKept(key: string): string | null {
  try {
    return globalThis.localStorage.getItem(key)
  } catch {
    return null
  }
}

export function keep(key: string, value: string | null): void {
  try {
    if (value === null) globalThis.localStorage.removeItem(key)
    else globalThis.localStorage.setItem(key, value)
  } catch {
    // Kept for this page only.
  }
}
