// A drawn graph: as SVG while it is small, on a canvas above that. People unable to see or point use the arrow keys
// here, or the table, which has the same in words.
import { type CSSProperties, type KeyboardEvent, useEffect, useMemo, useRef } from 'react'
import { Button } from '../../components/button.tsx'
import { Loading } from '../../components/page.tsx'
import { GraphCanvas } from './graph-canvas.tsx'
import { GraphSvg } from './graph-svg.tsx'
import { nodeHeight, nodeWidth } from './layout.ts'
import { besideOf, type Direction } from './run-nodes.ts'
import { useLayout } from './use-layout.ts'
import { useViewport, zoomStep } from './use-viewport.ts'
import { boundsOf } from './viewport.ts'

export interface ViewNode {
  id: string
  name: string
  status: string
  /** Below the name. */
  detail: string
  parents: readonly { id: string; on: string }[]
  /** It is no part of the run, only needed by it. */
  isOutside: boolean
}

interface GraphViewProps {
  label: string
  nodes: readonly ViewNode[]
  selected: string | null
  onSelect(id: string | null): void
  /** Only these are meant; the others are shown pale. */
  marked?: ReadonlySet<string> | null
  /** Kept in view as long as the person does not move the drawing. */
  followed?: readonly string[]
  onMoved?(): void
}

const svgNodesMax = 300
/** Above that the whole says more than its beginning. */
const overviewNodesMin = 60
const directions: Record<string, Direction> = {
  ArrowLeft: 'left',
  ArrowRight: 'right',
  ArrowUp: 'up',
  ArrowDown: 'down',
}

export function GraphView(props: GraphViewProps) {
  const { label, nodes, selected, onSelect, marked = null, followed = [], onMoved = () => undefined } = props
  const shape = useMemo(
    () => nodes.map(({ id, parents }) => ({ id, parents: parents.map((parent) => parent.id) })),
    [nodes],
  )
  const layout = useLayout(shape)
  const element = useRef<HTMLDivElement>(null)
  const viewport = useViewport(element, {
    drawing: layout,
    isOverview: nodes.length > overviewNodesMin,
    onMoved,
    onClick: (at) => {
      const hit = [...(layout?.nodes.values() ?? [])].find(
        ({ x, y }) => at.x >= x && at.x <= x + nodeWidth && at.y >= y && at.y <= y + nodeHeight,
      )
      onSelect(hit?.id ?? null)
    },
  })
  const { view, box, fit, zoom, show, follow } = viewport
  const rectOf = (id: string) => {
    const node = layout?.nodes.get(id)
    return node === undefined ? null : { x: node.x, y: node.y, width: nodeWidth, height: nodeHeight }
  }
  const followedText = followed.join()
  // biome-ignore lint/correctness/useExhaustiveDependencies: when others run, not with every status
  useEffect(() => {
    const bounds = boundsOf(followed.map(rectOf).filter((rect) => rect !== null))
    if (bounds !== null) follow(bounds)
  }, [followedText, layout])

  const onKeyDown = (event: KeyboardEvent) => {
    if (layout === null || event.ctrlKey || event.metaKey || event.altKey) return
    const direction = directions[event.key]
    const current = selected !== null && layout.nodes.has(selected) ? selected : null
    if (direction !== undefined) {
      const next = current === null ? nodes[0]?.id : besideOf(layout, current, direction)
      if (next !== null && next !== undefined) {
        onSelect(next)
        const rect = rectOf(next)
        if (rect !== null) show(rect)
      }
    } else if (event.key === '+' || event.key === '=') zoom(zoomStep)
    else if (event.key === '-') zoom(1 / zoomStep)
    else if (event.key === '0') fit()
    else if (event.key === 'Escape') onSelect(null)
    else return
    event.preventDefault()
  }
  const chosen = nodes.find(({ id }) => id === selected)
  const Drawing = nodes.length > svgNodesMax ? GraphCanvas : GraphSvg
  return (
    <div className="graph">
      <div
        ref={element}
        className="graph-box"
        style={{ '--graph-height': `${layout?.height ?? 0}px` } as CSSProperties}
        role="group"
        aria-label={`${label}. Arrow keys go from node to node, plus and minus zoom, 0 shows all.`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys need it
        tabIndex={0}
        onKeyDown={onKeyDown}
        {...viewport.handlers}
      >
        {layout === null ? (
          <Loading label="Placing the nodes" />
        ) : (
          <Drawing layout={layout} nodes={nodes} selected={selected} marked={marked} view={view} box={box} />
        )}
      </div>
      <p className="unseen" role="status">
        {chosen !== undefined && `${chosen.name}: ${chosen.detail}`}
      </p>
      <div className="graph-tools">
        <Button icon="plus" aria-label="Zoom in" onClick={() => zoom(zoomStep)} />
        <Button icon="minus" aria-label="Zoom out" onClick={() => zoom(1 / zoomStep)} />
        <Button onClick={fit}>Show all</Button>
      </div>
    </div>
  )
}
