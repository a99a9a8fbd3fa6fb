// The entry of a test process that runs several test files. One module imports them all, so that every test is registered
// before the first one starts. Imported one after the other, the registered tests might all end while the next file is
// still being read: node:test then runs the `after` of the process, once, and never again for the tests that follow.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from './test-files.ts'

/** `name`: of the entry, in `dir`. Returns its path. */
export function writeEntry(dir: string, name: string, files: readonly string[]): string {
  const all = join(dir, `${name}.mjs`)
  writeFileSync(all, files.map((file) => `import '${urlOf(file)}'\n`).join(''))
  const entry = join(dir, `${name}.test.mjs`)
  const first = join(root, 'tools/without-async-hooks.ts')
  writeFileSync(entry, `await import('${urlOf(first)}')\nawait import('${urlOf(all)}')\n`)
  return entry
}

/** Of a path in the repository, or of any absolute path. */
function urlOf(file: string): URL {
  return pathToFileURL(file.startsWith('/') ? file : join(root, file))
}
