// Repeats a request in several loops until it is disposed.
export function startLoops(loops: number, request: () => Promise<unknown>): AsyncDisposable {
  let isOver = false
  const running = Array.from({ length: loops }, async () => {
    while (!isOver) await request()
  })
  const all = Promise.all(running)
  all.catch(() => {})
  return {
    async [Symbol.asyncDispose]() {
      isOver = true
      await all
    },
  }
}
