// A graph as SVG, for some hundred nodes. Moving it changes one attribute only.
import { memo } from 'react'
import { iconPath } from '../../components/icon.tsx'
import { statusColour, statusIcon } from '../../components/status.tsx'
import type { ViewNode } from './graph-view.tsx'
import { curveOf, type Layout, nodeHeight, nodeWidth, type PlacedNode } from './layout.ts'
import type { Size, View } from './viewport.ts'

export interface DrawingProps {
  layout: Layout
  nodes: readonly ViewNode[]
  selected: string | null
  marked: ReadonlySet<string> | null
  view: View
  box: Size
}

const nameCharsMax = 22

export function GraphSvg({ view, box, ...content }: DrawingProps) {
  return (
    <svg className="graph-svg" width={box.width} height={box.height} aria-hidden="true">
      <defs>
        <marker
          id="graph-arrow"
          viewBox="0 0 8 8"
          refX="7"
          refY="4"
          markerUnits="userSpaceOnUse"
          markerWidth="9"
          markerHeight="9"
          orient="auto"
        >
          <path d="M0 0L8 4L0 8z" className="graph-arrow" />
        </marker>
      </defs>
      <g transform={`translate(${view.x} ${view.y}) scale(${view.scale})`}>
        <Content {...content} />
      </g>
    </svg>
  )
}

const Content = memo(function Content(props: Omit<DrawingProps, 'view' | 'box'>) {
  const { layout, nodes, selected, marked } = props
  const ruleOf = new Map(
    nodes.flatMap(({ id, parents }) => parents.map((parent) => [`${parent.id} ${id}`, parent.on])),
  )
  return (
    <>
      {layout.edges.map(({ from, to, points }) => {
        const isNear = selected !== null && (from === selected || to === selected)
        const isPale = marked !== null && !(marked.has(from) && marked.has(to))
        return (
          <path
            key={`${from} ${to}`}
            d={curveOf(points)}
            className={`graph-edge on-${ruleOf.get(`${from} ${to}`) ?? 'success'} ${isNear ? 'near' : ''} ${isPale ? 'pale' : ''}`}
            markerEnd="url(#graph-arrow)"
          />
        )
      })}
      {nodes.map((node) => {
        const placed = layout.nodes.get(node.id)
        if (placed === undefined) return null
        const isPale = marked !== null && !marked.has(node.id)
        return (
          <Node key={node.id} node={node} placed={placed} isSelected={node.id === selected} isPale={isPale} />
        )
      })}
    </>
  )
})

interface NodeProps {
  node: ViewNode
  placed: PlacedNode
  isSelected: boolean
  isPale: boolean
}

const Node = memo(function Node({ node, placed, isSelected, isPale }: NodeProps) {
  const { name, status, detail, isOutside } = node
  const classes = ['graph-node', isSelected && 'selected', isOutside && 'outside', isPale && 'pale']
  return (
    <g
      transform={`translate(${placed.x} ${placed.y})`}
      className={classes.filter((one) => one !== false).join(' ')}
      style={{ color: statusColour(status) }}
      data-status={status}
    >
      <title>{`${name}: ${detail}`}</title>
      <rect className="graph-frame" width={nodeWidth} height={nodeHeight} rx={7} />
      <path className="graph-sign" transform="translate(8 12)" d={iconPath(statusIcon(status))} />
      <text x={32} y={17} className="graph-name">
        {cutName(name)}
      </text>
      <text x={32} y={31} className="graph-detail">
        {detail}
      </text>
    </g>
  )
})

export function cutName(name: string): string {
  return name.length <= nameCharsMax ? name : `${name.slice(0, nameCharsMax - 1)}…`
}
