// Works on many items at once, up to a limit; answers come in the order of the items. The first failure ends it.

export async function inPool<Item, Answer>(
  items: readonly Item[],
  atOnceMax: number,
  work: (item: Item) => Promise<Answer>,
  onProgress: (done: number, total: number) => void = () => {},
): Promise<Answer[]> {
  const answers = new Array<Answer>(items.length)
  let next = 0
  let done = 0
  let failed = false
  const worker = async () => {
    while (next < items.length && !failed) {
      const i = next++
      try {
        answers[i] = await work(items[i]!)
      } catch (error) {
        failed = true
        throw error
      }
      onProgress(++done, items.length)
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnceMax, items.length) }, worker))
  return answers
}
