// A binary heap of instants, the earliest first.

export class InstantHeap {
  readonly #heap: number[] = []

  /** The earliest instant. */
  get first(): number | undefined {
    return this.#heap[0]
  }

  push(instant: number): void {
    const heap = this.#heap
    let at = heap.length
    heap.push(instant)
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (heap[parent]! <= instant) break
      heap[at] = heap[parent]!
      at = parent
    }
    heap[at] = instant
  }

  /** Removes the earliest instant. Only while there is one. */
  pop(): void {
    const heap = this.#heap
    const last = heap.pop()!
    const { length } = heap
    if (length === 0) return
    let at = 0
    while (true) {
      let child = 2 * at + 1
      if (child >= length) break
      if (child + 1 < length && heap[child + 1]! < heap[child]!) child += 1
      if (heap[child]! >= last) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = last
  }
}
