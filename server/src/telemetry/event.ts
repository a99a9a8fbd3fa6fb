// One event, many listeners. Code emits events; logs, metrics and tests listen. An event without listeners costs one
// test of a flag.
import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel'

export interface Event<T extends object> {
  readonly name: string
  emit(facts: T): void
  subscribe(listener: (facts: T) => void): Disposable
  /** The next one, for tests: subscribe, act, await. */
  next(matches?: (facts: T) => boolean): Promise<T>
}

export function defineEvent<T extends object>(name: string): Event<T> {
  const key = `carillon.${name}`
  const source = channel(key)
  function listen(listener: (facts: T) => void): Disposable {
    const onMessage = (message: unknown) => listener(message as T)
    subscribe(key, onMessage)
    return { [Symbol.dispose]: () => void unsubscribe(key, onMessage) }
  }
  return {
    name,
    emit(facts) {
      if (source.hasSubscribers) source.publish(facts)
    },
    subscribe: listen,
    next(matches = () => true) {
      return new Promise((resolve) => {
        const subscription = listen((facts) => {
          if (!matches(facts)) return
          subscription[Symbol.dispose]()
          resolve(facts)
        })
      })
    },
  }
}
