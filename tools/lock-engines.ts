// The Node versions that packages ask for, taken out of package-lock.json. npm compares them with the Node that installs,
// which may be 20; every package runs on the Node 26 that the install brings. Left in, they give a page of warnings and,
// for an optional package such as a compiled binding, npm silently installs nothing.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

interface Lock {
  packages: Record<string, { engines?: Record<string, string>; link?: boolean }>
}

const file = join(import.meta.dirname, '..', 'package-lock.json')

/** Packages of others whose entry names the Node they ask for. */
export function packagesWithEngines(lock: Lock): string[] {
  return Object.entries(lock.packages)
    .filter(([path, entry]) => path.includes('node_modules/') && entry.engines !== undefined)
    .map(([path]) => path)
}

export function dropLockEngines(): void {
  const lock = JSON.parse(readFileSync(file, 'utf8')) as Lock
  for (const path of packagesWithEngines(lock)) delete lock.packages[path]!.engines
  writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`)
}
