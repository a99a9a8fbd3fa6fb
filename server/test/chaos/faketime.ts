// Debian's library that shows a process another wall clock. Installed when it is missing and we may; a run goes on
// without it and says so.
import { execFile } from 'node:child_process'
import { access, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Its path; rejects with the reason when it is not to be had. */
export async function findFaketime(): Promise<string> {
  const found = await look()
  if (found !== null) return found
  if (process.platform !== 'linux') throw new Error('libfaketime is looked for on Linux only')
  if (process.getuid?.() !== 0) throw new Error('libfaketime is not installed, and only root may install it')
  await run('apt-get', ['install', '-y', '--no-install-recommends', 'libfaketime'], {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  }).catch((error: Error) => {
    throw new Error(`libfaketime could not be installed: ${error.message.split('\n')[0]}`)
  })
  const installed = await look()
  if (installed === null) throw new Error('libfaketime was installed but not found')
  return installed
}

async function look(): Promise<string | null> {
  for (const name of await readdir('/usr/lib').catch(() => [])) {
    const path = join('/usr/lib', name, 'faketime', 'libfaketime.so.1')
    if (
      await access(path).then(
        () => true,
        () => false,
      )
    )
      return path
  }
  return null
}
