// npm run build:sdk: makes the package that users install from sdk/: JavaScript for Node 20 and later, types that need
// nothing else, examples, and a tarball. In the repository the SDK runs from source; only the published package is
// compiled.
import { execFileSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { parseArgs } from 'node:util'

const root = join(import.meta.dirname, '..')
const { values } = parseArgs({ options: { out: { type: 'string' } } })
const out = values.out ?? join(root, 'sdk/dist')
const lib = join(out, 'lib')

await rm(out, { recursive: true, force: true })
await mkdir(lib, { recursive: true })
compile(['-p', 'sdk/tsconfig.build.json', '--outDir', lib])
await rename(join(lib, 'sdk/examples'), join(out, 'examples'))
// Users see only the types of the SDK; the types of the code beneath it stay internal. From the contract the SDK needs
// types, and the lists of constants.ts, which import nothing.
for (const file of globSync('{lib/server,examples}/**/*.d.ts', { cwd: out })) await rm(join(out, file))
for (const file of globSync('lib/contract/**/*.{js,d.ts}', { cwd: out })) {
  if (!/\/constants\.(js|d\.ts)$/.test(file)) await rm(join(out, file))
}
await reachConstants()
await keepReached()
await writeTypes()
await checkFreeOfWorkspaces()
await writePackage()
const packed = execFileSync('npm', ['pack', '--offline', '--ignore-scripts', '--silent'], { cwd: out })
const tarball = join(out, 'carillon-sdk.tgz')
await rename(join(out, packed.toString().trim()), tarball)
console.log(tarball)

function compile(args: string[]): void {
  const tsc = join(root, 'node_modules/.bin/tsc')
  execFileSync(process.execPath, [tsc, ...args], { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] })
}

/** The package has no workspaces: the lists of the contract are found by their path. */
async function reachConstants(): Promise<void> {
  const target = join(lib, 'contract/src/constants.js')
  for (const file of globSync('lib/{sdk,server}/**/*.{js,d.ts}', { cwd: out }).map((name) =>
    join(out, name),
  )) {
    const text = await readFile(file, 'utf8')
    const path = relative(dirname(file), target)
    const own = text.replace(/(['"])(?:#|@carillon\/)contract\/constants\.ts(['"])/g, `$1${path}$2`)
    if (own !== text) await writeFile(file, own)
  }
}

/** The compiler also writes modules of the server that only types come from. */
async function keepReached(): Promise<void> {
  const reached = new Set<string>()
  const visit = async (file: string): Promise<void> => {
    if (reached.has(file)) return
    reached.add(file)
    const imported = (await readFile(file, 'utf8')).matchAll(/from ['"](\.[^'"]+\.js)['"]/g)
    for (const [, path] of imported) await visit(join(dirname(file), path!))
  }
  for (const entry of ['sdk', 'client', 'test-kit']) await visit(join(lib, `sdk/src/${entry}.js`))
  for (const file of globSync('lib/server/**/*.js', { cwd: out }))
    if (!reached.has(join(out, file))) await rm(join(out, file))
}

/**
 * The contract's types are computed from its schemas, which are not published: the compiler writes each of them out in full,
 * and the SDK's declarations take them from there.
 */
async function writeTypes(): Promise<void> {
  const names = new Map<string, string>()
  const imported = /import (?:type )?\{([^}]*)\} from ['"]#contract\/([\w-]+)\.ts['"];?/g
  const files = globSync('lib/sdk/src/*.d.ts', { cwd: out }).map((file) => join(out, file))
  for (const file of files) {
    const text = await readFile(file, 'utf8')
    for (const [, list, module] of text.matchAll(imported)) {
      for (const name of list!.split(',').map((one) => one.trim())) names.set(name, module!)
    }
    const own = text
      .replace(imported, (_, list) => `import type {${list}} from './contract.js';`)
      .replace(/(from ['"]\.[^'"]*)\.ts(['"])/g, '$1.js$2')
    await writeFile(file, own)
  }
  await writeFile(join(lib, 'sdk/src/contract.d.ts'), await expandTypes(names))
}

async function expandTypes(names: ReadonlyMap<string, string>): Promise<string> {
  // In the repository, so that the compiler finds the packages that the contract is made with.
  const dir = await mkdtemp(join(root, 'node_modules/.carillon-types-'))
  try {
    const imports = [...names].map(
      ([name, module]) => `import type { ${name} } from '../../contract/src/${module}.ts'`,
    )
    const members = [...names.keys()].map((name) => `${name}: Deep<${name}>`)
    // An alias that is declared inside a function has no name outside, so it is written out. The template in the key cuts
    // the tie to where a property was declared, or that would be written instead of its type.
    const text = `${imports.join('\n')}
export function expand() {
  type Deep<T> = T extends readonly (infer U)[] ? Deep<U>[] : T extends object ? Flat<{ [K in keyof T]: Deep<T[K]> }> : T
  type Flat<T> = { [K in keyof T as \`\${K & string}\`]: T[K] }
  return null! as { ${members.join('; ')} }
}
`
    await writeFile(join(dir, 'types.ts'), text)
    const config = {
      extends: '../../tsconfig.json',
      compilerOptions: {
        noEmit: false,
        emitDeclarationOnly: true,
        declaration: true,
        noErrorTruncation: true,
        rootDir: '../..',
        outDir: 'out',
      },
      include: [],
      files: ['types.ts'],
    }
    await writeFile(join(dir, 'tsconfig.json'), JSON.stringify(config))
    compile(['-p', dir])
    const written = await readFile(join(dir, 'out/node_modules', basename(dir), 'types.d.ts'), 'utf8')
    return readMembers(written, [...names.keys()])
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

/** `Name: type;` of the one object becomes `export type Name = type;`. */
function readMembers(declared: string, names: readonly string[]): string {
  const body = declared.slice(declared.indexOf('expand(): {'))
  const members = body.split(/^ {4}(?=\w+: )/m).slice(1)
  const types = members.map((member) => {
    const text = member.replace(/^\};?\s*$/m, '').trimEnd()
    return `export type ${text.replace(': ', ' = ').replace(/^ {4}/gm, '')}`
  })
  const missing = names.filter((name) => !types.some((text) => text.startsWith(`export type ${name} = `)))
  if (missing.length > 0) throw new Error(`no types were written for ${missing.join(', ')}`)
  return `// Requests and replies of the API.\n${types.join('\n')}\n`
}

async function checkFreeOfWorkspaces(): Promise<void> {
  const wanted = /['"](?:#contract|@carillon\/(?:contract|server)|typebox)|import\("/
  for (const file of globSync('{lib,examples}/**/*.{js,d.ts}', { cwd: out })) {
    const line = (await readFile(join(out, file), 'utf8')).split('\n').find((one) => wanted.test(one))
    if (line !== undefined) throw new Error(`${file} still needs what is not published: ${line.trim()}`)
  }
}

async function writePackage(): Promise<void> {
  const source = JSON.parse(await readFile(join(root, 'sdk/package.json'), 'utf8'))
  const { name, version, type, license, description } = source
  const entry = (file: string) => ({
    types: `./lib/sdk/src/${file}.d.ts`,
    default: `./lib/sdk/src/${file}.js`,
  })
  const manifest = {
    name,
    version,
    description,
    type,
    license,
    engines: { node: '>=20' },
    exports: {
      '.': entry('sdk'),
      './client': entry('client'),
      './testing': entry('test-kit'),
      './package.json': './package.json',
    },
    files: ['lib', 'examples'],
    sideEffects: false,
  }
  await writeFile(join(out, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  await cp(join(root, 'sdk/README.md'), join(out, 'README.md'))
  await cp(join(root, 'LICENSE'), join(out, 'LICENSE'))
}
