// Bundles as they were unpacked, by their checksum, on this machine's disk. One appears under its name only when it is
// whole; the least recently used go first when they take too much room, and never one that is in use.
import { hash } from 'node:crypto'
import { chmod, mkdtemp, readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { makeDirectory } from '../../lib/make-directory.ts'
import { TarError } from '../../lib/tar/read-tar.ts'
import { unpackTar } from '../../lib/tar/unpack-tar.ts'
import { hourMs } from '../../lib/time/units.ts'
import type { Clock } from '../../ports/clock.ts'

export interface BundleCacheOptions {
  directory: string
  /** Unused bundles beyond this size are removed. Default 1 GiB. */
  bytesMax?: number
  /** Another user runs the bundles: it may read one whose name it knows, and write none. Default false. */
  isForOther?: boolean
}

const bundleLimits = { entriesMax: 10_000, bytesMax: 256 * 2 ** 20 }
const cacheBytesMax = 2 ** 30
/** Unpacking that has not finished after this long never will. */
const forsakenMs = hourMs
/** So that ten thousand empty files are not for nothing. */
const entryBytes = 4_096

interface Kept {
  path: string
  bytes: number
}

export class BundleCache {
  readonly #clock: Pick<Clock, 'databaseNow'>
  readonly #directory: string
  readonly #bytesMax: number
  readonly #isForOther: boolean
  /** The least recently used first. */
  readonly #kept = new Map<string, Kept>()
  readonly #users = new Map<string, number>()
  readonly #arriving = new Map<string, Promise<string>>()
  #opened: Promise<void> | null = null

  constructor(
    clock: Pick<Clock, 'databaseNow'>,
    { directory, bytesMax = cacheBytesMax, isForOther = false }: BundleCacheOptions,
  ) {
    this.#clock = clock
    this.#directory = directory
    this.#bytesMax = bytesMax
    this.#isForOther = isForOther
  }

  /** `fetch` is asked for the bundle unless it is there. Throws a TarError when the bundle is to blame. */
  async use<T>(
    sha256: string,
    fetch: () => Promise<Uint8Array>,
    work: (directory: string) => Promise<T>,
  ): Promise<T> {
    // Before any wait: nobody may remove it between its arrival and its use.
    this.#users.set(sha256, (this.#users.get(sha256) ?? 0) + 1)
    try {
      return await work(await this.#ensure(sha256, fetch))
    } finally {
      const users = this.#users.get(sha256)! - 1
      if (users === 0) this.#users.delete(sha256)
      else this.#users.set(sha256, users)
      await this.#makeRoom()
    }
  }

  async #ensure(sha256: string, fetch: () => Promise<Uint8Array>): Promise<string> {
    await this.#open()
    const arriving = this.#arriving.get(sha256)
    if (arriving !== undefined) return arriving
    const promise = this.#find(sha256).then((found) => found ?? this.#unpack(sha256, fetch))
    this.#arriving.set(sha256, promise)
    try {
      return await promise
    } finally {
      this.#arriving.delete(sha256)
    }
  }

  async #find(sha256: string): Promise<string | null> {
    const kept = this.#kept.get(sha256)
    if (kept === undefined) return null
    const now = this.#clock.databaseNow() / 1_000
    const isThere = await utimes(kept.path, now, now).then(
      () => true,
      () => false,
    )
    this.#kept.delete(sha256)
    if (!isThere) return null
    this.#kept.set(sha256, kept)
    return kept.path
  }

  async #unpack(sha256: string, fetch: () => Promise<Uint8Array>): Promise<string> {
    const content = await fetch()
    const found = hash('sha256', content)
    if (found !== sha256) throw new TarError(`has the checksum ${found} and not ${sha256}`)
    const draft = await mkdtemp(join(this.#directory, 'new-'))
    try {
      const bytes = entryBytes + (await unpackTar(content, draft, bundleLimits))
      const path = join(this.#directory, `${sha256}.${bytes}`)
      if (this.#isForOther) await chmod(draft, 0o755)
      await rename(draft, path).catch(async (error: NodeJS.ErrnoException) => {
        // Another process was faster; it unpacked the same content.
        if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
      })
      this.#kept.set(sha256, { path, bytes })
      return path
    } finally {
      await remove(draft)
    }
  }

  async #makeRoom(): Promise<void> {
    let bytes = [...this.#kept.values()].reduce((sum, one) => sum + one.bytes, 0)
    for (const [sha256, one] of [...this.#kept]) {
      if (bytes <= this.#bytesMax) return
      if (this.#users.has(sha256)) continue
      this.#kept.delete(sha256)
      bytes -= one.bytes
      // Out of the way at once: half of it must not be taken for the whole.
      const old = join(this.#directory, `old-${sha256}`)
      await rename(one.path, old).catch(() => {})
      await remove(old)
    }
  }

  #open(): Promise<void> {
    this.#opened ??= this.#readDirectory().catch((error) => {
      this.#opened = null
      throw error
    })
    return this.#opened
  }

  async #readDirectory(): Promise<void> {
    await makeDirectory(this.#directory, 0o700)
    if (this.#isForOther) {
      await chmod(this.#directory, 0o711)
      // Files in the data directory that nobody may read are closed themselves.
      await chmod(dirname(this.#directory), 0o711)
    }
    const now = this.#clock.databaseNow()
    const found: { sha256: string; kept: Kept; usedMs: number }[] = []
    for (const name of await readdir(this.#directory)) {
      const path = join(this.#directory, name)
      const usedMs = await stat(path).then(
        ({ mtimeMs }) => mtimeMs,
        () => null,
      )
      if (usedMs === null) continue
      const [, sha256, bytes] = /^([0-9a-f]{64})\.(\d{1,12})$/.exec(name) ?? []
      if (sha256 !== undefined) found.push({ sha256, kept: { path, bytes: Number(bytes) }, usedMs })
      else if (/^(new|old)-/.test(name) && usedMs < now - forsakenMs) await remove(path)
    }
    found.sort((a, b) => a.usedMs - b.usedMs)
    for (const { sha256, kept } of found) {
      if (this.#isForOther) await chmod(kept.path, 0o755)
      this.#kept.set(sha256, kept)
    }
  }
}

async function remove(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true }).catch(() => {})
}
