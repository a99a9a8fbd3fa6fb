// A measurement that fills the disk harms whoever shares it: asked before it begins.
import { statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'

export async function requireDisk(gigabytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(tmpdir())
  const free = (bavail * bsize) / 1e9
  if (free < gigabytes)
    throw new Error(
      `${tmpdir()} has ${free.toFixed(1)} GB free, and this needs ${gigabytes} GB. TMPDIR may name another place.`,
    )
}
