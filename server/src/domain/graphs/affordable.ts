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
  const take = (place: number) => {
    if (taken.has(place)) return
    taken.add(place)
    used += sizes[place]!
  }
  if (items.length > 0) take(0)
  let small = 0
  const smallestFirst = [...sizes.keys()].toSorted((a, b) => sizes[a]! - sizes[b]!)
  for (const place of smallestFirst) {
    small += sizes[place]!
    if (small > max * smallShare) break
    take(place)
  }
  for (const [place, size] of sizes.entries()) if (used + size <= max) take(place)
  return items.filter((_, place) => taken.has(place))
}
