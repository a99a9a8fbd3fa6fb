// `npm run test:browser`: the dashboard and the docs in a real Chromium over real servers. It takes the Chromium of the PATH. `--
// FILE…` runs only these; `--screenshots` only makes the images of docs/images anew; `--soak [MINUTES]` only watches a
// tab that is left open, for 10 minutes by default.
import { spawnSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { parseArgs } from 'node:util'

const root = join(import.meta.dirname, '..')
const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
const { values, positionals } = parseArgs({
  options: { screenshots: { type: 'boolean' }, soak: { type: 'boolean' } },
  allowPositionals: true,
})

const chromium = findOnPath()
if (chromium === undefined) {
  console.log(`There is no Chromium on the PATH (${names.join(', ')}). Debian and Ubuntu have it:

  apt-get update && apt-get install -y --no-install-recommends chromium

0 passed, 1 failed`)
  process.exit(1)
}

const soakMinutes = values.soak === true ? Number(positionals[0] ?? 10) : 0
if (!(soakMinutes >= 0 && soakMinutes <= 600)) throw new Error('--soak takes minutes, 600 at most')
const chosen =
  values.soak === true
    ? ['dashboard/test/open-tab.browser.ts']
    : values.screenshots === true
      ? ['dashboard/test/screenshots.browser.ts']
      : positionals
const { status } = spawnSync(
  process.execPath,
  [
    '--test',
    '--test-global-setup=dashboard/test/global.ts',
    '--test-concurrency=2',
    `--test-timeout=${300_000 + soakMinutes * 60_000}`,
    '--test-reporter=spec',
    '--test-reporter-destination=stdout',
    '--test-reporter=./tools/closing-line.ts',
    // `npm run test:rest` reads it there, and adds it to its own.
    `--test-reporter-destination=${process.env['CARILLON_TEST_COUNTS'] ?? 'stdout'}`,
    ...(chosen.length > 0 ? chosen : ['dashboard/test/*.browser.ts', 'server/test/docs/*.browser.ts']),
  ],
  {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      BROWSER_TEST_CHROMIUM: chromium,
      ...(soakMinutes > 0 && { BROWSER_TEST_SOAK_MINUTES: String(soakMinutes) }),
      ...(values.screenshots === true && { BROWSER_TEST_SCREENSHOTS: 'docs/images' }),
    },
  },
)
process.exit(status === 0 ? 0 : 1)

function findOnPath(): string | undefined {
  const dirs = (process.env['PATH'] ?? '').split(delimiter).filter((dir) => dir !== '')
  return dirs.flatMap((dir) => names.map((name) => join(dir, name))).find(isProgram)
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
