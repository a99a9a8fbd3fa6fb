// Checks free disk space before a measurement starts: one that fills the disk harms every other user of that disk.
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
