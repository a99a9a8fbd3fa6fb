// Moving and zooming a drawing: by dragging, by two fingers, by the wheel with Ctrl. The wheel alone scrolls the page.
import { type PointerEvent, type RefObject, useEffect, useRef, useState } from 'react'
import { firstView, fitView, type Rect, reveal, type Size, type View, zoomAt } from './viewport.ts'

/** A press that moved less than this is a click. */
const clickPx = 4
export const zoomStep = 1.25

interface Viewport {
  view: View
  box: Size
  fit(): void
  /** About the middle of the box. */
  zoom(factor: number): void
  show(rect: Rect): void
  /** As `show`, but not because the person wanted it: it is still fitted when the box changes. */
  follow(rect: Rect): void
  handlers: {
    onPointerDown(event: PointerEvent<HTMLElement>): void
    onPointerMove(event: PointerEvent<HTMLElement>): void
    onPointerUp(event: PointerEvent<HTMLElement>): void
    onPointerCancel(event: PointerEvent<HTMLElement>): void
  }
}

interface Options {
  drawing: Size | null
  /** At first all of it is shown, however small. */
  isOverview: boolean
  /** The person moved it. */
  onMoved(): void
  onClick(at: { x: number; y: number }): void
}

export function useViewport(element: RefObject<HTMLElement | null>, options: Options): Viewport {
  const [view, setView] = useState<View>({ x: 0, y: 0, scale: 1 })
  const [box, setBox] = useState<Size>({ width: 0, height: 0 })
  const latest = useRef({ options, view })
  latest.current = { options, view }
  const { drawing } = options
  const { isOverview } = options
  // Fitted when it is there and when the box changes its size, as long as nobody has moved it: nothing jumps.
  const isTouched = useRef(false)
  useEffect(() => {
    if (drawing === null || box.width === 0 || isTouched.current) return
    setView(isOverview ? fitView(drawing, box) : firstView(drawing, box))
  }, [drawing, box, isOverview])

  useEffect(() => {
    const target = element.current
    if (target === null) return
    const observer = new ResizeObserver(() =>
      setBox({ width: target.clientWidth, height: target.clientHeight }),
    )
    observer.observe(target)
    // React listens passively, and then the browser would zoom the page.
    const onWheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return
      event.preventDefault()
      isTouched.current = true
      latest.current.options.onMoved()
      const at = pointIn(target, event)
      setView((before) => zoomAt(before, at, Math.exp(-event.deltaY / 300)))
    }
    target.addEventListener('wheel', onWheel, { passive: false })
    return () => {
      observer.disconnect()
      target.removeEventListener('wheel', onWheel)
    }
  }, [element])

  const change = (next: (before: View) => View) => {
    isTouched.current = true
    setView(next)
  }
  return {
    view,
    box,
    fit() {
      isTouched.current = false
      if (drawing !== null) setView(fitView(drawing, box))
    },
    zoom: (factor) => change((before) => zoomAt(before, { x: box.width / 2, y: box.height / 2 }, factor)),
    show: (rect) => change((before) => reveal(before, rect, box)),
    follow: (rect) => setView((before) => reveal(before, rect, box)),
    handlers: usePointers(latest, change),
  }
}

interface Latest {
  current: { options: Options; view: View }
}

function usePointers(
  latest: Latest,
  setView: (change: (before: View) => View) => void,
): Viewport['handlers'] {
  const fingers = useRef(new Map<number, { x: number; y: number }>())
  const movedPx = useRef(0)
  const up = (event: PointerEvent<HTMLElement>, isClick: boolean) => {
    const wasOnly = fingers.current.size === 1
    fingers.current.delete(event.pointerId)
    if (!isClick || !wasOnly || movedPx.current > clickPx) return
    const at = pointIn(event.currentTarget, event)
    const { view, options } = latest.current
    // The clicked node stays where it is, also when a panel opens beside it.
    setView((before) => before)
    options.onClick({ x: (at.x - view.x) / view.scale, y: (at.y - view.y) / view.scale })
  }
  return {
    onPointerDown(event) {
      if (event.button !== 0) return
      if (fingers.current.size === 0) movedPx.current = 0
      event.currentTarget.setPointerCapture(event.pointerId)
      fingers.current.set(event.pointerId, pointIn(event.currentTarget, event))
    },
    onPointerMove(event) {
      const before = fingers.current.get(event.pointerId)
      if (before === undefined) return
      const now = pointIn(event.currentTarget, event)
      movedPx.current += Math.hypot(now.x - before.x, now.y - before.y)
      if (movedPx.current <= clickPx) return
      latest.current.options.onMoved()
      const other = [...fingers.current].find(([id]) => id !== event.pointerId)?.[1]
      fingers.current.set(event.pointerId, now)
      setView((view) => {
        if (other === undefined)
          return { ...view, x: view.x + now.x - before.x, y: view.y + now.y - before.y }
        const apart = Math.hypot(before.x - other.x, before.y - other.y)
        return zoomAt(view, other, Math.hypot(now.x - other.x, now.y - other.y) / Math.max(1, apart))
      })
    },
    onPointerUp: (event) => up(event, true),
    onPointerCancel: (event) => up(event, false),
  }
}

function pointIn(element: HTMLElement, { clientX, clientY }: { clientX: number; clientY: number }) {
  const { left, top } = element.getBoundingClientRect()
  return { x: clientX - left, y: clientY - top }
}
