// A graph on a canvas, for up to a thousand nodes: only the visible part is drawn, and names only when they can be
// read.
import { useEffect, useMemo, useRef } from 'react'
import { statusColour } from '../../components/status.tsx'
import { readColour, useThemeName } from '../../lib/media.ts'
import { cutName, type DrawingProps } from './graph-svg.tsx'
import { curveOf, nodeHeight, nodeWidth } from './layout.ts'
import { readableScale, seenRect } from './viewport.ts'

const dashes: Record<string, number[]> = { failure: [6, 4], completion: [2, 3] }

export function GraphCanvas({ layout, nodes, selected, marked, view, box }: DrawingProps) {
  const element = useRef<HTMLCanvasElement>(null)
  const themeName = useThemeName()
  // biome-ignore lint/correctness/useExhaustiveDependencies: the colours depend on the theme
  const colours = useMemo(readColours, [themeName])
  const ruleOf = useMemo(
    () => new Map(nodes.flatMap(({ id, parents }) => parents.map((on) => [`${on.id} ${id}`, on.on]))),
    [nodes],
  )
  const lines = useMemo(
    () =>
      layout.edges.map(({ from, to, points }) => {
        const rows = points.map(({ y }) => y)
        return {
          from,
          to,
          path: new Path2D(curveOf(points)),
          left: points[0]!.x,
          right: points.at(-1)!.x,
          top: Math.min(...rows),
          bottom: Math.max(...rows),
        }
      }),
    [layout],
  )
  useEffect(() => {
    const canvas = element.current
    const context = canvas?.getContext('2d')
    if (canvas === null || context === null || context === undefined) return
    const frame = requestAnimationFrame(() => draw(canvas, context))
    return () => cancelAnimationFrame(frame)

    function draw(target: HTMLCanvasElement, pen: CanvasRenderingContext2D): void {
      const ratio = window.devicePixelRatio || 1
      if (target.width !== Math.round(box.width * ratio)) target.width = Math.round(box.width * ratio)
      if (target.height !== Math.round(box.height * ratio)) target.height = Math.round(box.height * ratio)
      pen.setTransform(1, 0, 0, 1, 0, 0)
      pen.clearRect(0, 0, target.width, target.height)
      pen.setTransform(ratio * view.scale, 0, 0, ratio * view.scale, ratio * view.x, ratio * view.y)
      const seen = seenRect(view, box)
      const isSeen = (left: number, top: number, right: number, bottom: number) =>
        right >= seen.x && left <= seen.x + seen.width && bottom >= seen.y && top <= seen.y + seen.height
      pen.lineWidth = Math.min(4, Math.max(1.2, 0.8 / view.scale))
      for (const { from, to, path, left, right, top, bottom } of lines) {
        if (!isSeen(left, top, right, bottom)) continue
        const isNear = from === selected || to === selected
        pen.strokeStyle = isNear ? colours.accent : colours.line
        pen.globalAlpha = isNear ? 1 : marked === null || (marked.has(from) && marked.has(to)) ? 0.75 : 0.2
        pen.setLineDash(dashes[ruleOf.get(`${from} ${to}`) ?? ''] ?? [])
        pen.stroke(path)
      }
      pen.setLineDash([])
      const isReadable = view.scale >= readableScale
      for (const node of nodes) {
        const placed = layout.nodes.get(node.id)
        if (placed === undefined) continue
        const { x, y } = placed
        if (!isSeen(x, y, x + nodeWidth, y + nodeHeight)) continue
        const colour = colours.of(node.status)
        pen.globalAlpha = marked === null || marked.has(node.id) ? 1 : 0.35
        pen.beginPath()
        pen.roundRect(x, y, nodeWidth, nodeHeight, 7)
        pen.fillStyle = isReadable || node.status === 'SKIPPED' ? colours.ground : colour
        pen.fill()
        pen.lineWidth = node.id === selected ? 3.5 : 1.5
        pen.strokeStyle = node.id === selected ? colours.accent : colour
        pen.stroke()
        if (!isReadable) continue
        pen.fillStyle = colour
        pen.fillRect(x + 8, y + 8, 5, nodeHeight - 16)
        pen.fillStyle = colours.text
        pen.font = '12.5px system-ui, sans-serif'
        pen.fillText(cutName(node.name), x + 22, y + 17)
        pen.fillStyle = colours.quiet
        pen.font = '11px system-ui, sans-serif'
        pen.fillText(node.detail, x + 22, y + 31)
      }
      pen.globalAlpha = 1
    }
  }, [layout, nodes, lines, ruleOf, selected, marked, view, box, colours])
  return (
    <div aria-hidden="true">
      <canvas ref={element} className="graph-canvas" style={{ width: box.width, height: box.height }} />
    </div>
  )
}

function readColours() {
  const cache = new Map<string, string>()
  return {
    ground: readColour('--bg'),
    text: readColour('--text'),
    quiet: readColour('--text-2'),
    line: readColour('--line-strong'),
    accent: readColour('--accent'),
    of(status: string): string {
      // "var(--failed)" names the variable.
      const name = statusColour(status).slice(4, -1)
      const known = cache.get(name) ?? readColour(name)
      cache.set(name, known)
      return known
    },
  }
}
