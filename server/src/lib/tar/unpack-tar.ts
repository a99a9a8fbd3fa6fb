// Unpacks a .tar.gz that a stranger made into an empty directory: nothing is written outside of it, nothing in it leads
// outside of it, and it has an end. Links are made last, so that nothing is ever written through one.
import { type FileHandle, link, mkdir, open, realpath, symlink } from 'node:fs/promises'
import { join, posix, sep } from 'node:path'
import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { readTar, type TarEntry, TarError } from './read-tar.ts'

export interface UnpackLimits {
  /** Files, directories and links. */
  entriesMax: number
  /** Unpacked, with the headers of the entries. */
  bytesMax: number
}

const pathLengthMax = 1_024

/** Returns the size of the files. Throws a TarError when the bundle is to blame. */
export async function unpackTar(
  content: Uint8Array,
  directory: string,
  limits: UnpackLimits,
): Promise<number> {
  const root = await realpath(directory)
  const gunzip = createGunzip()
  // Errors arrive where the stream is read.
  pipeline(Readable.from([content]), gunzip, () => {})
  const links: { path: string; entry: TarEntry }[] = []
  const made = new Set<string>()
  let entries = 0
  let bytes = 0
  try {
    for await (const entry of readTar(gunzip, limits.bytesMax)) {
      if (++entries > limits.entriesMax) throw new TarError(`has more than ${limits.entriesMax} files`)
      const path = safePath(entry.path)
      // The directory itself, as `tar -C dir .` has it.
      if (path === null) continue
      if (entry.kind === 'directory') await makeDirectories(root, path, made)
      else {
        await makeDirectories(root, posix.dirname(path), made)
        if (entry.kind === 'file') bytes += await writeFile(join(root, path), entry)
        else links.push({ path, entry })
      }
    }
    await makeLinks(root, links)
    return bytes
  } catch (error) {
    throw asTarError(error)
  } finally {
    gunzip.destroy()
  }
}

/** Relative to the root, in plain form; null: the root. */
function safePath(path: string): string | null {
  if (path.includes('\0') || path.length > pathLengthMax || leadsOut(path)) {
    throw new TarError(`has a file outside of it: ${JSON.stringify(path.slice(0, 200))}`)
  }
  const plain = posix.normalize(path).replace(/\/$/, '')
  return plain === '.' || plain === '' ? null : plain
}

function leadsOut(path: string): boolean {
  return posix.isAbsolute(path) || path.split('/').includes('..') || path.includes('\\')
}

async function makeDirectories(root: string, path: string, made: Set<string>): Promise<void> {
  if (path === '.' || made.has(path)) return
  await makeDirectories(root, posix.dirname(path), made)
  await mkdir(join(root, path), { mode: 0o755 })
  made.add(path)
}

/** Not to be written again: it is run as it was checked. */
async function writeFile(path: string, { content, executable }: TarEntry): Promise<number> {
  let file: FileHandle | null = null
  let bytes = 0
  try {
    // Never over an existing file: two entries with the same name would give it two meanings.
    file = await open(path, 'wx', executable ? 0o555 : 0o444)
    for await (const chunk of content) {
      await file.writeFile(chunk)
      bytes += chunk.length
    }
    return bytes
  } finally {
    await file?.close()
  }
}

async function makeLinks(root: string, links: readonly { path: string; entry: TarEntry }[]): Promise<void> {
  for (const { path, entry } of links) {
    if (entry.kind === 'hard link') {
      const target = safePath(entry.target)
      if (target === null) throw new TarError(`has a link to itself: ${path}`)
      await link(join(root, target), join(root, path))
    } else await symlink(entry.target, join(root, path))
  }
  // Only now: the target of a link depends on the other entries.
  for (const { path, entry } of links) {
    const target = await realpath(join(root, path)).catch(() => null)
    if (target === null || (target !== root && !target.startsWith(root + sep))) {
      throw new TarError(
        `has a link that leads out of it, or nowhere: ${path} to ${entry.target.slice(0, 200)}`,
      )
    }
  }
}

/** Errors of the file system or the decompressor caused by a bad bundle are reported as errors of the bundle. */
function asTarError(error: unknown): unknown {
  const { code, message, path } = error as NodeJS.ErrnoException
  if (error instanceof TarError || code === undefined) return error
  if (code.startsWith('Z_')) return new TarError(`is damaged: ${message}`)
  const theirs = ['EEXIST', 'ENOTDIR', 'EISDIR', 'ENAMETOOLONG', 'ELOOP', 'EPERM', 'ENOENT']
  const name = path === undefined ? '' : `: ${path.split('/').at(-1)}`
  return theirs.includes(code) ? new TarError(`has entries that do not go together (${code}${name})`) : error
}
