// Graphs by the places of their nodes, from a seed. A parent always has a lower nodeIndex than its child, so none has a
// cycle; nodeIndex 0 is a root.
import { DEPENDENCY_RULES } from '@carillon/contract/constants.ts'
import type { DependencyRule } from '../../src/domain/graphs/graph.ts'
import type { Dice } from '../fuzz/dice.ts'

export interface Shape {
  name: string
  nodes: number
  edges: readonly ShapeEdge[]
}

export interface ShapeEdge {
  parent: number
  child: number
  on: DependencyRule
}

export function diamond(): Shape {
  return { name: 'a diamond', nodes: 4, edges: after([[], [0], [0], [1, 2]]) }
}

export function chain(nodes: number): Shape {
  const parents = Array.from({ length: nodes }, (_, nodeIndex) => (nodeIndex === 0 ? [] : [nodeIndex - 1]))
  return { name: `a chain of ${nodes}`, nodes, edges: after(parents) }
}

/** One before, one behind, and so many between them. */
export function fan(width: number): Shape {
  const between = Array.from({ length: width }, (_, at) => at + 1)
  const parents = [[], ...between.map(() => [0]), between]
  return { name: `a fan of ${width}`, nodes: width + 2, edges: after(parents) }
}

/** Up to so many nodes, all connected; the roots come first. */
export function randomShape(dice: Dice, nodesMax: number, roots = 1): Shape {
  const nodes = dice.between(Math.max(2, roots + 1), nodesMax)
  const edges: ShapeEdge[] = []
  // Some are long and thin, some flat and wide.
  const reach = dice.pick([2, 6, nodes])
  for (let child = roots; child < nodes; child++) {
    const near = Math.min(child, reach)
    const count = Math.min(near, dice.chance(0.1) ? dice.between(1, 12) : dice.between(1, 3))
    // The last node joins nodes that several roots reach.
    const parents = new Set(
      roots > 1 && child === nodes - 1 ? Array.from({ length: roots }, (_, i) => i) : [],
    )
    while (parents.size < count) parents.add(child - 1 - dice.below(near))
    for (const parent of parents) edges.push({ parent, child, on: drawRule(dice) })
  }
  return { name: `a graph of ${nodes}`, nodes, edges }
}

/** Mostly success, else little of a graph would ever run. */
export function drawRule(dice: Dice): DependencyRule {
  return dice.chance(0.6) ? 'success' : dice.pick(DEPENDENCY_RULES)
}

function after(parents: readonly (readonly number[])[]): ShapeEdge[] {
  return parents.flatMap((list, child) => list.map((parent): ShapeEdge => ({ parent, child, on: 'success' })))
}
