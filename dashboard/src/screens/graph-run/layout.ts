// Arranges the nodes of a graph in layers from left to right: a node stands right of all it depends on. Within a layer
// the order follows the neighbours' middle (barycentre), which leaves few lines crossing. In steps, so that a graph of
// a thousand nodes does not block the page; it terminates for any input, also for a cycle.
import { orderLayers } from './layer-order.ts'
import { placeInOrder } from './place-in-order.ts'

export interface GraphNode {
  id: string
  /** Ids of the nodes it depends on; unknown ones are ignored. */
  parents: readonly string[]
}

export interface Point {
  x: number
  y: number
}

export interface PlacedNode extends Point {
  id: string
  layer: number
}

export interface PlacedEdge {
  from: string
  to: string
  /** From the right side of the one to the left side of the other. */
  points: Point[]
}

export interface Layout {
  nodes: ReadonlyMap<string, PlacedNode>
  edges: readonly PlacedEdge[]
  width: number
  height: number
}

/** Places that a line passes through, or a node. */
interface Vertex {
  node: number | null
  layer: number
  before: number[]
  after: number[]
}

export const nodeWidth = 176
export const nodeHeight = 40
const layerGap = 64
const nodeGap = 14
const lineGap = 10
const orderSweeps = 8
const placeSweeps = 6
/** Beyond so many places long lines go straight through the layers. */
const passagesMax = 6_000

export function* layOutInSteps(nodes: readonly GraphNode[]): Generator<void, Layout> {
  const indexOf = new Map(nodes.map(({ id }, index) => [id, index]))
  const parents = nodes.map((node, index) => [
    ...new Set(
      node.parents
        .map((id) => indexOf.get(id))
        .filter((at): at is number => at !== undefined && at !== index),
    ),
  ])
  const layerOf = layersOf(parents)
  const { vertices, chains } = verticesOf(parents, layerOf)
  yield
  const layers = yield* orderLayers(vertices, orderSweeps)
  const y = yield* placeSweepsOf(vertices, layers)
  return shapeOf(nodes, { layerOf, chains, y })
}

/**
 * By the longest path from a node without parents; a node that is needed late stands just before its first dependent.
 */
function layersOf(parents: readonly number[][]): number[] {
  const children: number[][] = parents.map(() => [])
  const open = parents.map((list) => list.length)
  for (const [child, list] of parents.entries()) for (const parent of list) children[parent]!.push(child)
  const layerOf: number[] = parents.map(() => 0)
  const queue = [...open.keys()].filter((index) => open[index] === 0)
  const placed = new Set(queue)
  let rest = 0
  for (let at = 0; at < parents.length; at++) {
    if (at >= queue.length) {
      // A circle, which the server refuses: it is cut where it is met.
      while (placed.has(rest)) rest += 1
      queue.push(rest)
      placed.add(rest)
    }
    const index = queue[at]!
    for (const child of children[index]!) {
      if (placed.has(child)) continue
      layerOf[child] = Math.max(layerOf[child]!, layerOf[index]! + 1)
      open[child]! -= 1
      if (open[child] === 0) {
        queue.push(child)
        placed.add(child)
      }
    }
  }
  for (const [index, list] of parents.entries()) {
    if (list.length > 0 || children[index]!.length === 0) continue
    const first = children[index]!.reduce((least, child) => Math.min(least, layerOf[child]!), layerOf.length)
    layerOf[index] = Math.max(0, first - 1)
  }
  return layerOf
}

/** A line that passes layers has a place in each, so that it bends around the nodes there. */
function verticesOf(parents: readonly number[][], layerOf: readonly number[]) {
  const vertices: Vertex[] = layerOf.map((layer, node) => ({ node, layer, before: [], after: [] }))
  const edges = parents.flatMap((list, to) => list.map((from) => ({ from, to })))
  const passages = edges.reduce(
    (sum, { from, to }) => sum + Math.max(0, layerOf[to]! - layerOf[from]! - 1),
    0,
  )
  const chains = edges.map(({ from, to }) => {
    const chain = [from]
    if (passages <= passagesMax) {
      for (let layer = layerOf[from]! + 1; layer < layerOf[to]!; layer++) {
        chain.push(vertices.length)
        vertices.push({ node: null, layer, before: [], after: [] })
      }
    }
    chain.push(to)
    for (const [at, vertex] of chain.entries()) {
      const next = chain[at + 1]
      // Only neighbours in neighbouring layers pull at each other.
      if (next === undefined || vertices[next]!.layer !== vertices[vertex]!.layer + 1) continue
      vertices[vertex]!.after.push(next)
      vertices[next]!.before.push(vertex)
    }
    return { from, to, chain }
  })
  return { vertices, chains }
}

/** Every position moves towards the middle of its neighbours, as far as the adjacent nodes in its layer allow. */
function* placeSweepsOf(vertices: readonly Vertex[], layers: readonly number[][]): Generator<void, number[]> {
  const y = vertices.map(() => 0)
  const gaps = layers.map((layer) =>
    layer.map((vertex, at) => (at === 0 ? 0 : distance(vertices[layer[at - 1]!]!, vertices[vertex]!))),
  )
  for (const [index, layer] of layers.entries()) {
    let at = 0
    for (const [place, vertex] of layer.entries()) {
      at += gaps[index]![place]!
      y[vertex] = at
    }
  }
  for (let sweep = 0; sweep < placeSweeps; sweep++) {
    const isForward = sweep % 2 === 0
    const order = isForward ? layers.keys() : [...layers.keys()].toReversed()
    for (const index of order) {
      const layer = layers[index]!
      const wanted = layer.map((vertex) => {
        const { before, after } = vertices[vertex]!
        const near = isForward ? before : after
        if (near.length === 0) return y[vertex]!
        return near.reduce((sum, other) => sum + y[other]!, 0) / near.length
      })
      for (const [place, at] of placeInOrder(wanted, gaps[index]!).entries()) y[layer[place]!] = at
    }
    yield
  }
  return y
}

function distance(above: Vertex, below: Vertex): number {
  const half = (vertex: Vertex) => (vertex.node === null ? 0 : nodeHeight / 2)
  return half(above) + half(below) + (above.node === null || below.node === null ? lineGap : nodeGap)
}

interface Shape {
  layerOf: readonly number[]
  chains: readonly { from: number; to: number; chain: number[] }[]
  y: readonly number[]
}

function shapeOf(nodes: readonly GraphNode[], { layerOf, chains, y }: Shape): Layout {
  const top = nodes.length === 0 ? 0 : y.reduce((least, at) => Math.min(least, at), Infinity) - nodeHeight / 2
  const bottom = y.reduce((most, at) => Math.max(most, at), 0) + nodeHeight / 2
  const xOf = (layer: number) => layer * (nodeWidth + layerGap)
  const placed = nodes.map(({ id }, index) => ({
    id,
    layer: layerOf[index]!,
    x: xOf(layerOf[index]!),
    y: y[index]! - nodeHeight / 2 - top,
  }))
  const edges = chains.map(({ from, to, chain }) => ({
    from: nodes[from]!.id,
    to: nodes[to]!.id,
    points: [
      { x: xOf(layerOf[from]!) + nodeWidth, y: y[from]! - top },
      ...chain.slice(1, -1).flatMap((vertex, at) => {
        const x = xOf(layerOf[from]! + 1 + at)
        // Straight through the layer, between its nodes.
        return [
          { x, y: y[vertex]! - top },
          { x: x + nodeWidth, y: y[vertex]! - top },
        ]
      }),
      { x: xOf(layerOf[to]!), y: y[to]! - top },
    ],
  }))
  const layerCount = layerOf.reduce((most, layer) => Math.max(most, layer + 1), 0)
  return {
    nodes: new Map(placed.map((node) => [node.id, node])),
    edges,
    width: layerCount === 0 ? 0 : xOf(layerCount - 1) + nodeWidth,
    height: nodes.length === 0 ? 0 : bottom - top,
  }
}

/** The curve through the points of a line, flat at each of them. */
export function curveOf(points: readonly Point[]): string {
  const [first, ...rest] = points
  if (first === undefined) return ''
  let before = first
  const parts = [`M${round(first.x)} ${round(first.y)}`]
  for (const point of rest) {
    const middle = round((before.x + point.x) / 2)
    parts.push(
      before.y === point.y
        ? `H${round(point.x)}`
        : `C${middle} ${round(before.y)} ${middle} ${round(point.y)} ${round(point.x)} ${round(point.y)}`,
    )
    before = point
  }
  return parts.join('')
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
