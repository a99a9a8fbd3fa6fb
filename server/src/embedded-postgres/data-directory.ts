// The directory PostgreSQL keeps its data in. Its parents may be closed to the user PostgreSQL runs as: we
// open the directory and hand it over as file descriptor 3, which needs no permission on the way there.
// It is made under another name and renamed when complete, so a half-made one never results from a crash.
import { constants } from 'node:fs'
import { access, chown, type FileHandle, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { OperatingError } from '../lib/operating-error.ts'
import type { Binaries } from './binaries.ts'
import { handOver } from './hand-over.ts'
import { isAlive, runOnLeash } from './leash.ts'
import { initdbUser, type SystemUser } from './system-user.ts'

/** How PostgreSQL's programs are told where the data is. */
export interface DataAccess {
  /** For `-D`. */
  argument: string
  /** For `stdio[3]`. */
  descriptor: number | 'ignore'
}

const draftPrefix = 'pg.draft-'

export async function ensureInitialised(
  pgDir: string,
  user: SystemUser | null,
  binaries: Binaries,
): Promise<void> {
  await removeOldDrafts(dirname(pgDir))
  if (await isInitialised(pgDir)) return
  const draft = join(dirname(pgDir), `${draftPrefix}${process.pid}`)
  await mkdir(draft, { mode: 0o700 })
  try {
    const maker = await initdbUser(user)
    if (maker !== null) await chown(draft, maker.uid, maker.gid)
    await runInitdb(draft, maker, binaries)
    if (user !== null) await handOver(draft, user)
    try {
      await rename(draft, pgDir)
    } catch (error) {
      // Another start was faster: use its directory.
      if (!(await isInitialised(pgDir))) throw error
    }
    await syncDirectory(dirname(pgDir))
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

/** Opens the directory for a child process that runs as `user`, and calls `use` with how to name it. */
export async function withDataAccess<T>(
  dir: string,
  user: SystemUser | null,
  use: (access: DataAccess) => Promise<T>,
): Promise<T> {
  if (user === null || process.platform !== 'linux') return use({ argument: dir, descriptor: 'ignore' })
  const handle: FileHandle = await open(dir, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    return await use({ argument: '/proc/self/fd/3', descriptor: handle.fd })
  } finally {
    await handle.close()
  }
}

async function isInitialised(pgDir: string): Promise<boolean> {
  return access(join(pgDir, 'PG_VERSION')).then(
    () => true,
    () => false,
  )
}

async function removeOldDrafts(dataDir: string): Promise<void> {
  for (const name of await readdir(dataDir)) {
    if (!name.startsWith(draftPrefix)) continue
    const pid = Number.parseInt(name.slice(draftPrefix.length), 10)
    if (pid !== process.pid && isAlive(pid)) continue
    // The initdb of a process that was killed a moment ago may still be writing.
    await rm(join(dataDir, name), { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
  }
}

async function runInitdb(dir: string, user: SystemUser | null, binaries: Binaries): Promise<void> {
  await withDataAccess(dir, user, async ({ argument, descriptor }) => {
    const locale = binaries.major >= 17 ? ['--locale-provider=builtin', '--locale=C.UTF-8'] : ['--locale=C']
    const args = [
      '-D',
      argument,
      '-U',
      'postgres',
      '-A',
      'peer',
      '-E',
      'UTF8',
      ...locale,
      '--no-instructions',
    ]
    const outputFile = `${dir}.log`
    const output = await open(outputFile, 'w', 0o600)
    try {
      const code = await runOnLeash([binaries.initdb, ...args], { user, output: output.fd, descriptor }).ended
      if (code === 0) return
      const said = await readFile(outputFile, 'utf8')
      throw new OperatingError(`PostgreSQL's initdb failed (${code}):\n${said.trim().slice(-4_000)}`)
    } finally {
      await output.close()
      await rm(outputFile, { force: true })
    }
  })
}

async function syncDirectory(dir: string): Promise<void> {
  const handle = await open(dir, 'r')
  await handle.sync()
  await handle.close()
}
