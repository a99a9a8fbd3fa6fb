// Which part of a drawing is seen, and how large: a point p of the drawing is at p * scale + (x, y) in the box.

export interface View {
  x: number
  y: number
  scale: number
}

export interface Size {
  width: number
  height: number
}

export interface Rect extends Size {
  x: number
  y: number
}

const scaleMin = 0.02
const scaleMax = 2.5
const margin = 16
/** Names can be read. */
export const readableScale = 0.6

/** All of it in the middle of the box, never larger than life. */
export function fitView(drawing: Size, box: Size): View {
  const scale = clampScale(
    Math.min(
      1,
      (box.width - 2 * margin) / Math.max(1, drawing.width),
      (box.height - 2 * margin) / Math.max(1, drawing.height),
    ),
  )
  return {
    scale,
    x: (box.width - drawing.width * scale) / 2,
    y: (box.height - drawing.height * scale) / 2,
  }
}

/** Its beginning, large enough to be read, when all of it together would not be. */
export function firstView(drawing: Size, box: Size): View {
  const fitted = fitView(drawing, box)
  if (fitted.scale >= readableScale) return fitted
  const y = (box.height - drawing.height * readableScale) / 2
  return { scale: readableScale, x: margin, y }
}

/** Larger or smaller, while the point of the box stays over the same point of the drawing. */
export function zoomAt(view: View, at: { x: number; y: number }, factor: number): View {
  const scale = clampScale(view.scale * factor)
  const ratio = scale / view.scale
  return { scale, x: at.x - (at.x - view.x) * ratio, y: at.y - (at.y - view.y) * ratio }
}

/** Moves no further than needed for the rectangle to be seen; one larger than the box is put in its middle. */
export function reveal(view: View, rect: Rect, box: Size): View {
  return {
    ...view,
    x: view.x + shiftInto(view.x + rect.x * view.scale, rect.width * view.scale, box.width),
    y: view.y + shiftInto(view.y + rect.y * view.scale, rect.height * view.scale, box.height),
  }
}

/** The part of the drawing that is in the box. */
export function seenRect(view: View, box: Size): Rect {
  return {
    x: -view.x / view.scale,
    y: -view.y / view.scale,
    width: box.width / view.scale,
    height: box.height / view.scale,
  }
}

export function boundsOf(rects: readonly Rect[]): Rect | null {
  if (rects.length === 0) return null
  const left = Math.min(...rects.map(({ x }) => x))
  const top = Math.min(...rects.map(({ y }) => y))
  const right = Math.max(...rects.map(({ x, width }) => x + width))
  const bottom = Math.max(...rects.map(({ y, height }) => y + height))
  return { x: left, y: top, width: right - left, height: bottom - top }
}

function shiftInto(start: number, length: number, space: number): number {
  const free = space - 2 * margin
  if (length > free) return space / 2 - (start + length / 2)
  if (start < margin) return margin - start
  return Math.min(0, space - margin - (start + length))
}

function clampScale(scale: number): number {
  return Math.min(scaleMax, Math.max(scaleMin, scale))
}
