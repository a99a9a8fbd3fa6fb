// Two facts about packages of others, taken out of package-lock.json. The Node versions that they ask for: npm compares them
// with the Node that installs, which may be 20; every package runs on the Node 26 that the install brings. Left in, they give
// a page of warnings and, for an optional package such as a compiled binding, npm silently installs nothing. And that they
// have install scripts: npm looks for scripts only where the lock file says so, and we need none of them. `gypfile: false`
// keeps npm 10 from compiling a package whose script it does not see.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

interface Lock {
  packages: Record<string, { engines?: Record<string, string>; hasInstallScript?: boolean; gypfile?: false }>
}

const root = join(import.meta.dirname, '..')
const file = join(root, 'package-lock.json')

/** Packages of others whose entry names the Node they ask for or an install script, or lets npm compile them. */
export function packagesToTrim(lock: Lock): string[] {
  return Object.entries(lock.packages)
    .filter(([path]) => path.includes('node_modules/'))
    .filter(([path, entry]) => entry.engines || entry.hasInstallScript || mayCompile(path, entry.gypfile))
    .map(([path]) => path)
}

function mayCompile(path: string, gypfile: false | undefined): boolean {
  return gypfile !== false && existsSync(join(root, path, 'binding.gyp'))
}

export function trimLock(): void {
  const lock = JSON.parse(readFileSync(file, 'utf8')) as Lock
  for (const path of packagesToTrim(lock)) {
    const entry = lock.packages[path]!
    if (mayCompile(path, entry.gypfile)) entry.gypfile = false
    delete entry.engines
    delete entry.hasInstallScript
  }
  writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`)
}
