// The layout of graphs: the position of each node, that nothing overlaps, and how long it takes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { layOut } from '../../../test/lay-out.ts'
import { countCrossings } from './layer-order.ts'
import { curveOf, type GraphNode, type Layout, nodeHeight, nodeWidth } from './layout.ts'
import { placeInOrder } from './place-in-order.ts'

const graph = (text: string): GraphNode[] =>
  text.split(' ').map((part) => {
    const [id, parents = ''] = part.split('<')
    return { id: id!, parents: parents === '' ? [] : parents.split(',') }
  })

function at(layout: Layout, id: string) {
  const node = layout.nodes.get(id)
  assert.ok(node !== undefined, `${id} is placed`)
  return node
}

function assertNothingOverlaps(layout: Layout): void {
  const nodes = [...layout.nodes.values()]
  for (const [index, one] of nodes.entries()) {
    for (const other of nodes.slice(index + 1)) {
      const apart = Math.abs(one.x - other.x) >= nodeWidth || Math.abs(one.y - other.y) >= nodeHeight
      assert.ok(apart, `${one.id} and ${other.id} lie on each other`)
    }
    assert.ok(one.x >= 0 && one.x + nodeWidth <= layout.width + 0.01, `${one.id} is inside`)
    assert.ok(one.y >= -0.01 && one.y + nodeHeight <= layout.height + 0.01, `${one.id} is inside`)
  }
}

test('a node stands right of everything it depends on, by the longest way', () => {
  const layout = layOut(graph('a b<a c<b d<a,c e<d,a'))
  assert.deepEqual(
    ['a', 'b', 'c', 'd', 'e'].map((id) => at(layout, id).layer),
    [0, 1, 2, 3, 4],
  )
  assert.equal(layout.edges.length, 6)
  assertNothingOverlaps(layout)
})

test('a node that is needed late stands in the layer just before its dependent', () => {
  const layout = layOut(graph('a b<a c<b outside d<c,outside'))
  assert.equal(at(layout, 'outside').layer, 2)
})

test('a line that passes a layer keeps away from the nodes there', () => {
  const layout = layOut(graph('a b<a c<b,a'))
  const long = layout.edges.find(({ from, to }) => from === 'a' && to === 'c')!
  const middle = long.points[1]!
  assert.ok(Math.abs(middle.y - (at(layout, 'b').y + nodeHeight / 2)) >= nodeHeight / 2)
})

test('two chains that are given crossed are drawn beside each other', () => {
  const layout = layOut(graph('a b x<b y<a p<x q<y'))
  assert.equal(at(layout, 'a').y < at(layout, 'b').y, at(layout, 'y').y < at(layout, 'x').y)
  assert.equal(at(layout, 'y').y < at(layout, 'x').y, at(layout, 'q').y < at(layout, 'p').y)
  assert.equal(at(layout, 'a').y, at(layout, 'y').y, 'a chain is straight')
})

test('parents unknown, doubled, or the node itself, and a circle do no harm', () => {
  const layout = layOut(graph('a<a,nobody b<a,a c<d d<c e<d'))
  assert.equal(layout.nodes.size, 5)
  assert.equal(layout.edges.filter(({ to }) => to === 'b').length, 1)
  assertNothingOverlaps(layout)
  assert.deepEqual([layOut([]).width, layOut([]).height], [0, 0])
})

test('crossings are counted', () => {
  const vertices = [
    { layer: 0, before: [], after: [3] },
    { layer: 0, before: [], after: [2] },
    { layer: 1, before: [1], after: [] },
    { layer: 1, before: [0], after: [] },
  ]
  assert.equal(
    countCrossings(vertices, [
      [0, 1],
      [2, 3],
    ]),
    1,
  )
  assert.equal(
    countCrossings(vertices, [
      [0, 1],
      [3, 2],
    ]),
    0,
  )
})

test('places keep their order and distance and stand where they want when they can', () => {
  assert.deepEqual(placeInOrder([0, 100, 200], [0, 50, 50]), [0, 100, 200])
  assert.deepEqual(placeInOrder([10, 10], [0, 20]), [0, 20])
  assert.deepEqual(placeInOrder([100, 0], [0, 20]), [40, 60])
  assert.deepEqual(placeInOrder([], []), [])
})

test('a curve is flat where it begins and ends', () => {
  assert.equal(
    curveOf([
      { x: 0, y: 0 },
      { x: 10, y: 20 },
    ]),
    'M0 0C5 0 5 20 10 20',
  )
  assert.equal(
    curveOf([
      { x: 0, y: 5 },
      { x: 10, y: 5 },
    ]),
    'M0 5H10',
  )
})

test('a thousand nodes with ten thousand dependencies are placed within two seconds', () => {
  let seed = 1
  const random = (below: number) => {
    seed = (seed * 16_807) % 2_147_483_647
    return seed % below
  }
  const nodes: GraphNode[] = []
  for (let index = 0; index < 1_000; index++) {
    const parents = index === 0 ? [] : Array.from({ length: 10 }, () => `n${random(index)}`)
    nodes.push({ id: `n${index}`, parents })
  }
  const start = performance.now()
  const layout = layOut(nodes)
  assert.ok(performance.now() - start < 2_000)
  assertNothingOverlaps(layout)
})
