// npm run add -- [-w WORKSPACE] NAME: adds a dependency, with npm under the Node 26 of this checkout: under an older one it
// would pick older versions.
import { spawnSync } from 'node:child_process'
import { trimLock } from './trim-lock.ts'

const npm = process.env['npm_execpath']
if (npm === undefined) throw new Error('run it as npm run add')
const { status } = spawnSync(process.execPath, [npm, 'install', '--save-exact', ...process.argv.slice(2)], {
  stdio: 'inherit',
})
if (status === 0) trimLock()
process.exitCode = status ?? 1
