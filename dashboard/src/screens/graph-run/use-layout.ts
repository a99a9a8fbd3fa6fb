// The layout of a graph, made a little at a time: the page stays quick while a large one is being placed.
import { useEffect, useMemo, useState } from 'react'
import { type GraphNode, type Layout, layOutInSteps } from './layout.ts'

const sliceMs = 8

/** Null until it is there. It is made anew when nodes or dependencies change, not when a status does. */
export function useLayout(nodes: readonly GraphNode[]): Layout | null {
  const [layout, setLayout] = useState<Layout | null>(null)
  const shape = useMemo(() => nodes.map(({ id, parents }) => `${id}<${parents.join()}`).join(' '), [nodes])
  // biome-ignore lint/correctness/useExhaustiveDependencies: the shape stands for the nodes
  useEffect(() => {
    const steps = layOutInSteps(nodes)
    let timer: number | undefined
    const slice = () => {
      const endMs = performance.now() + sliceMs
      do {
        const { done, value } = steps.next()
        if (done === true) {
          setLayout(value)
          return
        }
      } while (performance.now() < endMs)
      timer = window.setTimeout(slice)
    }
    slice()
    return () => window.clearTimeout(timer)
  }, [shape])
  return layout
}
