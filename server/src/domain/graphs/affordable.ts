// How much of a list one bounded step takes on. The first item always fits, so that nothing is too large for ever; a part
// of the step goes to the smallest items, so that they wait behind no larger ones.

/** This part of the whole goes to the smallest items. */
const smallShare = 1 / 4

/** As many items as fit into `max` by their sizes, in the order in which they were given. */
export function takeAffordable<Item>(
  items: readonly Item[],
  sizeOf: (item: Item) => number,
  max: number,
): Item[] {
  const sizes = items.map(sizeOf)
  const taken = new Set<number>()
  let used = 0
  const take = (nodeIndex: number) => {
    if (taken.has(nodeIndex)) return
    taken.add(nodeIndex)
    used += sizes[nodeIndex]!
  }
  if (items.length > 0) take(0)
  let small = 0
  const smallestFirst = [...sizes.keys()].toSorted((a, b) => sizes[a]! - sizes[b]!)
  for (const nodeIndex of smallestFirst) {
    small += sizes[nodeIndex]!
    if (small > max * smallShare) break
    take(nodeIndex)
  }
  for (const [nodeIndex, size] of sizes.entries()) if (used + size <= max) take(nodeIndex)
  return items.filter((_, nodeIndex) => taken.has(nodeIndex))
}
