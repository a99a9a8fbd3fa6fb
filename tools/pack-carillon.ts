// npm run pack:carillon -- FOLDER: makes the package that users install, `carillon`: command, server, SDK, contract and
// the built dashboard as one, in JavaScript, because Node runs no TypeScript under node_modules. Types are blanked out,
// so lines and columns of an error match the source. In the repository everything runs from source.
import { execFileSync } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { prepareDashboard } from '@carillon/server/process/build-dashboard.ts'

const root = join(import.meta.dirname, '..')
const [folder] = process.argv.slice(2)
if (folder === undefined) {
  console.error('pack:carillon: say where the tarball shall go: npm run pack:carillon -- FOLDER')
  process.exit(2)
}

const stage = await mkdtemp(join(tmpdir(), 'carillon-pack-'))
try {
  await buildDashboard()
  for (const file of globSync('{cli,server,contract,sdk}/src/**/*.*', { cwd: root })) {
    if (!/\.test\.ts$/.test(file)) await (file.endsWith('.ts') ? strip(file) : copy(file))
  }
  for (const file of globSync('cli/bin/*.js', { cwd: root }))
    await write(file, rewrite(file, await read(file)))
  await copy('dashboard/dist')
  const texts = globSync('{*.md,sdk/README.md,docs/**/*.md}', { cwd: root })
  for (const file of ['LICENSE', ...texts]) await copy(file)
  await writeManifests()
  await checkImports()
  console.log(await pack(resolve(folder)))
} finally {
  await rm(stage, { recursive: true, force: true })
}

async function buildDashboard(): Promise<void> {
  let failure: string | null = null
  await prepareDashboard({
    signal: new AbortController().signal,
    onBuild: () => console.error('Building the dashboard …'),
    onFailure: (reason) => {
      failure = reason
    },
  })
  if (failure !== null || !existsSync(join(root, 'dashboard/dist/index.html')))
    throw new Error(`The dashboard could not be built: ${failure}`)
}

async function strip(file: string): Promise<void> {
  const code = stripTypeScriptTypes(await read(file), { mode: 'strip' })
  await write(toJavaScript(file), rewrite(file, code))
}

/** Imports of other files, and the names of files that are started or run, as they are called in the package. */
function rewrite(file: string, code: string): string {
  return code.replaceAll(/'([^'\n]+)'/g, (literal, text: string) => {
    const target = targetOf(file, text)
    if (target === null) return literal
    // A name without a path is joined to one where it stands.
    if (!text.includes('/')) return `'${toJavaScript(text)}'`
    const path = relative(dirname(file), toJavaScript(target))
    return `'${path.startsWith('.') ? path : `./${path}`}'`
  })
}

/** The file of the repository that is meant; null: none is. */
function targetOf(file: string, text: string): string | null {
  const workspace = /^(?:@carillon\/|#)(\w+)(?:\/(.+))?$/.exec(text)
  if (workspace !== null) {
    const [, name, path] = workspace
    const candidates =
      path === undefined
        ? [`${name}/src/${name}.ts`]
        : [`${name}/src/${path}`, `${name}/src/${path}.ts`, `${name}/${path}`]
    return candidates.find((one) => existsSync(join(root, one))) ?? null
  }
  if (!text.endsWith('.ts')) return null
  const places = text.startsWith('.') ? [''] : ['', '../src']
  const found = places
    .map((place) => join(dirname(file), place, text))
    .find((one) => existsSync(join(root, one)))
  return found ?? null
}

function toJavaScript(file: string): string {
  return file.replace(/\.ts$/, '.js')
}

async function writeManifests(): Promise<void> {
  const [main, ...parts] = await Promise.all(
    ['', 'cli/', 'server/', 'contract/', 'sdk/'].map(async (path) =>
      JSON.parse(await read(`${path}package.json`)),
    ),
  )
  const { name, version, description, license, type, engines, optionalDependencies } = main
  const needed = parts.flatMap((part) => Object.entries(part.dependencies ?? {}))
  const manifest = {
    name,
    version,
    description,
    license,
    type,
    engines,
    bin: { carillon: 'cli/bin/carillon.js' },
    exports: { './package.json': './package.json' },
    dependencies: sorted(needed.filter(([one]) => !one.startsWith('@carillon/'))),
    // PostgreSQL 15 is for our tests alone.
    optionalDependencies: sorted(
      Object.entries(optionalDependencies).filter(([one]) => !one.startsWith('postgres-15-')),
    ),
  }
  await write('package.json', `${JSON.stringify(manifest, null, 2)}\n`)
  // The server reads its version there, and finds the dashboard by this file.
  for (const part of ['server', 'dashboard'])
    await write(
      `${part}/package.json`,
      `${JSON.stringify({ name: `@carillon/${part}`, version, type, private: true })}\n`,
    )
}

function sorted(entries: [string, unknown][]): Record<string, unknown> {
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** Every file that is imported is there, and nothing is wanted that only the repository has. */
async function checkImports(): Promise<void> {
  const imported = /(?:from|import|import\(|import\.meta\.resolve\()\s*'([^']+)'/g
  for (const file of globSync('{cli,server,contract,sdk}/**/*.js', { cwd: stage })) {
    for (const [, text] of (await readFile(join(stage, file), 'utf8')).matchAll(imported)) {
      const isMissing = text!.startsWith('.') && !existsSync(join(stage, dirname(file), text!))
      if (isMissing || /^(?:@carillon\/|#)|\.ts$/.test(text!)) throw new Error(`${file} wants ${text}`)
    }
  }
}

async function pack(out: string): Promise<string> {
  await mkdir(out, { recursive: true })
  const packed = execFileSync('npm', ['pack', '--offline', '--ignore-scripts', '--silent'], { cwd: stage })
  const tarball = join(out, 'carillon.tgz')
  // The folder may lie on another disk than the temporary one.
  await cp(join(stage, packed.toString().trim()), `${tarball}.part`)
  await rename(`${tarball}.part`, tarball)
  return tarball
}

function read(file: string): Promise<string> {
  return readFile(join(root, file), 'utf8')
}

async function write(file: string, text: string): Promise<void> {
  const path = join(stage, file)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text, { mode: file.startsWith('cli/bin/') ? 0o755 : 0o644 })
}

async function copy(file: string): Promise<void> {
  const path = join(stage, file)
  await mkdir(dirname(path), { recursive: true })
  await cp(join(root, file), path, { recursive: true })
}
