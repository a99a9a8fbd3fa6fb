// Gives a data directory to another system user. Repeated after a crash it finishes: the directory itself changes its owner
// last. The former owner may have put anything there, so root opens every file without following links, through the open
// directory above it, and gives away only files that were the former owner's and have one name.
import { constants, type Stats } from 'node:fs'
import { type FileHandle, open, readdir } from 'node:fs/promises'
import type { SystemUser } from '../lib/system-users.ts'
import { postgresHandedOver } from '../telemetry/events.ts'

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_DIRECTORY } = constants

/** Nothing may run on the directory. */
export async function handOver(pgDir: string, user: SystemUser): Promise<void> {
  const top = await open(pgDir, O_RDONLY | O_DIRECTORY)
  try {
    const from = await top.stat()
    if (from.uid === user.uid) return
    const files = await giveDirectory(top, from, user)
    await top.sync()
    postgresHandedOver.emit({ dir: pgDir, fromUid: from.uid, toUid: user.uid, files })
  } finally {
    await top.close()
  }
}

async function giveDirectory(dir: FileHandle, from: Stats, user: SystemUser): Promise<number> {
  let files = 1
  const path = `/proc/self/fd/${dir.fd}`
  for (const name of await readdir(path)) files += await giveEntry(`${path}/${name}`, from, user)
  await dir.chown(user.uid, user.gid)
  return files
}

async function giveEntry(path: string, from: Stats, user: SystemUser): Promise<number> {
  // Links and sockets cannot be opened; PostgreSQL removes its old socket as the owner of the directory.
  const handle = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(() => null)
  if (handle === null) return 0
  try {
    const found = await handle.stat()
    if (found.isDirectory()) {
      // Its files may be the former owner's still, also when itself is not any more.
      const isOurs = found.uid === from.uid || found.uid === user.uid
      return isOurs ? await giveDirectory(handle, from, user) : 0
    }
    if (!found.isFile() || found.uid !== from.uid || found.nlink !== 1) return 0
    await handle.chown(user.uid, user.gid)
    return 1
  } finally {
    await handle.close()
  }
}
