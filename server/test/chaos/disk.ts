// A small disk of its own for PostgreSQL's data, so that it can be full: a tmpfs, which takes root. Only its size is
// changed, so that a full disk costs no memory.
import { execFile } from 'node:child_process'
import { mkdir, rmdir, statfs } from 'node:fs/promises'
import { promisify } from 'node:util'
import { realTimers } from '../../src/lib/time/timers.ts'
import type { Guard } from './guard.ts'

const run = promisify(execFile)
const size = '4g'
/** Space left when the disk is full; zero could not be set while others write. */
const leftBytes = 256 * 1024

export function mayMount(): boolean {
  return process.platform === 'linux' && process.getuid?.() === 0
}

export class Disk implements AsyncDisposable {
  readonly path: string
  readonly #guard: Guard

  static async mount(path: string, guard: Guard): Promise<Disk> {
    await mkdir(path)
    guard.holdMount(path)
    await run('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=0711`, 'carillon-chaos', path])
    return new Disk(path, guard)
  }

  private constructor(path: string, guard: Guard) {
    this.path = path
    this.#guard = guard
  }

  async fill(): Promise<void> {
    // Usage grows while we measure it; a size below the usage is refused.
    for (let tries = 0; ; tries++) {
      const { blocks, bfree, bsize } = await statfs(this.path)
      const bytes = (blocks - bfree) * bsize + leftBytes * (1 + tries)
      const filled = run('mount', ['-o', `remount,size=${bytes}`, this.path])
      if (tries === 10) await filled
      else if (
        await filled.then(
          () => true,
          () => false,
        )
      )
        return
    }
  }

  async empty(): Promise<void> {
    await run('mount', ['-o', `remount,size=${size}`, this.path])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // The last file may be closed a moment after its process is gone.
    for (let tries = 0; ; tries++) {
      const gone = await run('umount', [this.path]).then(
        () => true,
        () => false,
      )
      if (gone) break
      if (tries === 25) await run('umount', ['-l', this.path])
      await realTimers.wait(200)
    }
    this.#guard.holdMount('')
    await rmdir(this.path)
  }
}
