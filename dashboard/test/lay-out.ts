// The layout of a graph all at once.
import { type GraphNode, type Layout, layOutInSteps } from '../src/screens/graph-run/layout.ts'

export function layOut(nodes: readonly GraphNode[]): Layout {
  const steps = layOutInSteps(nodes)
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}
