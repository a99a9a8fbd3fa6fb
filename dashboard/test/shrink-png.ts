// A picture of a page in 256 of its colours, the others as the nearest of these: a third of the bytes that the browser
// gives, without a visible difference in text and charts.
import assert from 'node:assert/strict'
import { crc32, deflateSync, inflateSync } from 'node:zlib'

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const coloursMax = 256

/** Takes the format of Chromium: 8 bits a channel, not interlaced. */
export function shrinkPng(png: Buffer): Buffer {
  const parts = readParts(png)
  const head = parts.find(({ type }) => type === 'IHDR')!.data
  const [width, height] = [head.readUInt32BE(0), head.readUInt32BE(4)]
  const channels = { 2: 3, 6: 4 }[head[9]!]
  assert(channels !== undefined && head[8] === 8 && head[12] === 0, 'a picture of another kind')
  const packed = parts.filter(({ type }) => type === 'IDAT').map(({ data }) => data)
  const pixels = unfilter(inflateSync(Buffer.concat(packed)), { width, height, channels })

  const counts = new Map<number, number>()
  for (const colour of pixels) counts.set(colour, (counts.get(colour) ?? 0) + 1)
  const palette = choosePalette(counts)
  const indexOf = new Map([...counts.keys()].map((colour) => [colour, nearest(palette, colour)]))
  const rows = Buffer.alloc(height * (width + 1))
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) rows[y * (width + 1) + 1 + x] = indexOf.get(pixels[y * width + x]!)!

  const newHead = Buffer.from(head)
  newHead[9] = 3
  return Buffer.concat([
    signature,
    part('IHDR', newHead),
    part('PLTE', Buffer.from(palette.flatMap(channelsOf))),
    part('IDAT', deflateSync(rows, { level: 9 })),
    part('IEND', Buffer.alloc(0)),
  ])
}

function readParts(png: Buffer): { type: string; data: Buffer }[] {
  const parts = []
  for (let at = signature.length; at < png.length; ) {
    const length = png.readUInt32BE(at)
    parts.push({ type: png.toString('latin1', at + 4, at + 8), data: png.subarray(at + 8, at + 8 + length) })
    at += 12 + length
  }
  return parts
}

function part(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const ends = Buffer.alloc(8)
  ends.writeUInt32BE(data.length, 0)
  ends.writeUInt32BE(crc32(body), 4)
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)])
}

/** The colours of all pixels, as 0xRRGGBB. A row is stored as the difference to the pixels beside or above it. */
function unfilter(rows: Buffer, size: { width: number; height: number; channels: number }): Uint32Array {
  const { width, height, channels } = size
  const stride = width * channels
  const pixels = new Uint32Array(width * height)
  let above = new Uint8Array(stride)
  for (let y = 0; y < height; y++) {
    const start = y * (stride + 1)
    const row = new Uint8Array(rows.subarray(start + 1, start + 1 + stride))
    for (let x = 0; x < stride; x++) {
      const left = x < channels ? 0 : row[x - channels]!
      const corner = x < channels ? 0 : above[x - channels]!
      row[x] = row[x]! + predict(rows[start]!, left, above[x]!, corner)
    }
    for (let x = 0; x < width; x++) {
      const at = x * channels
      pixels[y * width + x] = (row[at]! << 16) | (row[at + 1]! << 8) | row[at + 2]!
    }
    above = row
  }
  return pixels
}

function predict(filter: number, left: number, up: number, corner: number): number {
  if (filter === 0) return 0
  if (filter === 1) return left
  if (filter === 2) return up
  if (filter === 3) return (left + up) >> 1
  const guess = left + up - corner
  const [toLeft, toUp, toCorner] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)]
  if (toLeft <= toUp && toLeft <= toCorner) return left
  return toUp <= toCorner ? up : corner
}

/** Repeatedly adds the colour that would be missed most: far from the chosen ones, and much used. */
function choosePalette(counts: ReadonlyMap<number, number>): number[] {
  const left = [...counts].map(([colour, count]) => ({ colour, weight: Math.sqrt(count), far: 1 }))
  const palette: number[] = []
  while (palette.length < Math.min(coloursMax, left.length)) {
    const next = left.reduce((best, one) => (one.far * one.weight > best.far * best.weight ? one : best))
    const isFirst = palette.length === 0
    palette.push(next.colour)
    for (const one of left) {
      const far = distanceOf(one.colour, next.colour)
      one.far = isFirst ? far : Math.min(one.far, far)
    }
  }
  return palette
}

function nearest(palette: readonly number[], colour: number): number {
  let [best, bestDistance] = [0, Number.POSITIVE_INFINITY]
  for (const [index, one] of palette.entries()) {
    const distance = distanceOf(colour, one)
    if (distance < bestDistance) [best, bestDistance] = [index, distance]
  }
  return best
}

function distanceOf(a: number, b: number): number {
  const [red, green, blue] = channelsOf(a)
  const [otherRed, otherGreen, otherBlue] = channelsOf(b)
  return (red - otherRed) ** 2 + (green - otherGreen) ** 2 + (blue - otherBlue) ** 2
}

function channelsOf(colour: number): [number, number, number] {
  return [colour >> 16, (colour >> 8) & 0xff, colour & 0xff]
}
