// The order within each layer of a graph: by the middle of the neighbours in the layer before, then in the layer after,
// and so on; the order with the fewest crossings that was seen is kept.

interface Linked {
  layer: number
  /** In the layer before and in the layer after. */
  before: readonly number[]
  after: readonly number[]
}

/** The vertices of each layer, in order. */
export function* orderLayers(vertices: readonly Linked[], sweeps: number): Generator<void, number[][]> {
  let layers = firstOrder(vertices)
  let best = layers
  let fewest = countCrossings(vertices, layers)
  for (let sweep = 0; sweep < sweeps && fewest > 0; sweep++) {
    yield
    layers = sweepOnce(vertices, layers, sweep % 2 === 0)
    const crossings = countCrossings(vertices, layers)
    if (crossings >= fewest) continue
    fewest = crossings
    best = layers
  }
  return best
}

// In the order in which a walk from each start meets them: connected nodes stay together.
function firstOrder(vertices: readonly Linked[]): number[][] {
  const count = vertices.reduce((most, { layer }) => Math.max(most, layer + 1), 0)
  const layers: number[][] = Array.from({ length: count }, () => [])
  const seen = new Set<number>()
  for (const start of vertices.keys()) {
    if (vertices[start]!.before.length > 0) continue
    const stack = [start]
    for (let vertex = stack.pop(); vertex !== undefined; vertex = stack.pop()) {
      if (seen.has(vertex)) continue
      seen.add(vertex)
      layers[vertices[vertex]!.layer]!.push(vertex)
      stack.push(...vertices[vertex]!.after.toReversed())
    }
  }
  return layers
}

function sweepOnce(vertices: readonly Linked[], layers: readonly number[][], isForward: boolean): number[][] {
  const ordered = layers.map((layer) => [...layer])
  const placeOf = placesOf(vertices.length, ordered)
  const indexes = isForward ? [...ordered.keys()] : [...ordered.keys()].toReversed()
  for (const index of indexes) {
    const layer = ordered[index]!
    const middles = new Map(
      layer.map((vertex) => {
        const near = isForward ? vertices[vertex]!.before : vertices[vertex]!.after
        const sum = near.reduce((total, other) => total + placeOf[other]!, 0)
        return [vertex, near.length === 0 ? placeOf[vertex]! : sum / near.length]
      }),
    )
    layer.sort((a, b) => middles.get(a)! - middles.get(b)!)
    for (const [place, vertex] of layer.entries()) placeOf[vertex] = place
  }
  return ordered
}

function placesOf(count: number, layers: readonly number[][]): number[] {
  const placeOf: number[] = new Array(count).fill(0)
  for (const layer of layers) for (const [place, vertex] of layer.entries()) placeOf[vertex] = place
  return placeOf
}

/** Pairs of lines between neighbouring layers that cross: inversions, counted by a binary indexed tree. */
export function countCrossings(vertices: readonly Linked[], layers: readonly number[][]): number {
  const placeOf = placesOf(vertices.length, layers)
  let crossings = 0
  for (const [index, layer] of layers.entries()) {
    const width = layers[index + 1]?.length ?? 0
    if (width === 0) continue
    const tree: number[] = new Array(width + 1).fill(0)
    let lines = 0
    for (const vertex of layer) {
      const ends = vertices[vertex]!.after.map((other) => placeOf[other]!).sort((a, b) => a - b)
      for (const end of ends) {
        let notBeyond = 0
        for (let at = end + 1; at > 0; at -= at & -at) notBeyond += tree[at]!
        crossings += lines - notBeyond
      }
      // Lines from one vertex do not cross each other.
      for (const end of ends) for (let at = end + 1; at <= width; at += at & -at) tree[at]! += 1
      lines += ends.length
    }
  }
  return crossings
}
