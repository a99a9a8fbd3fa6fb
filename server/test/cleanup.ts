// Clean-up of a test in the reverse order of its set-up: node:test alone runs t.after in the order it was given,
// which would drop a database before its connections are closed.
import type { TestContext } from 'node:test'

const stacks = new WeakMap<TestContext, AsyncDisposableStack>()

export function cleanUp(t: TestContext, action: () => unknown): void {
  let stack = stacks.get(t)
  if (stack === undefined) {
    stack = new AsyncDisposableStack()
    stacks.set(t, stack)
    const made = stack
    t.after(() => made.disposeAsync())
  }
  stack.defer(async () => {
    await action()
  })
}
