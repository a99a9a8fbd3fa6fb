// Runs after every install (the root's `prepare`), under whatever Node the machine has. Points
// node_modules/.bin/node at the Node 26 that came with the install, so that every npm script runs on it:
// npm 10 drops that link when it discards the packages of other platforms. Plain JavaScript for Node 20.
import { existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { nodePackageName } from '../cli/bin/node-package.js'

const modules = join(dirname(dirname(fileURLToPath(import.meta.url))), 'node_modules')
const name = nodePackageName()

if (!existsSync(join(modules, name, 'bin', 'node'))) {
  console.error(
    `carillon: the package ${name} (Node 26 for ${process.platform} ${process.arch}) is not installed.`,
  )
  console.error(
    'carillon: Linux and macOS on x64 and arm64 are supported; run npm ci without --omit=optional.',
  )
  process.exit(1)
}
const link = join(modules, '.bin', 'node')
mkdirSync(dirname(link), { recursive: true })
rmSync(link, { force: true })
symlinkSync(join('..', name, 'bin', 'node'), link)
