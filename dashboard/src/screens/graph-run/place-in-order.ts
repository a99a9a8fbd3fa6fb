// Positions in a given order and with given distances, as near as possible (least squares) to the wanted ones: nodes
// that want the same position form a block, which stands at the mean of their wishes.

/** `gaps[i]` is the least distance between i - 1 and i; that of the first counts for nothing. */
export function placeInOrder(wanted: readonly number[], gaps: readonly number[]): number[] {
  const offsets: number[] = []
  let offset = 0
  for (const [index, gap] of gaps.entries()) {
    if (index > 0) offset += gap
    offsets.push(offset)
  }
  const blocks: { sum: number; count: number }[] = []
  for (const [index, wish] of wanted.entries()) {
    let block = { sum: wish - offsets[index]!, count: 1 }
    for (let last = blocks.at(-1); last !== undefined && mean(last) > mean(block); last = blocks.at(-1)) {
      block = { sum: last.sum + block.sum, count: last.count + block.count }
      blocks.pop()
    }
    blocks.push(block)
  }
  return blocks
    .flatMap((block) => new Array<number>(block.count).fill(mean(block)))
    .map((at, index) => at + offsets[index]!)
}

function mean({ sum, count }: { sum: number; count: number }): number {
  return sum / count
}
