// Style as a test: problems that a reviewer would miss and a newcomer would trip over. Every rule below is a function
// from the repository's files to complaints; a complaint names the file and the remedy.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join, normalize, relative } from 'node:path'
import { type SourceFile, withoutComments } from './source-file.ts'
import { checkDecisionIndex, deadLinks } from './tidy-docs.ts'
import { wordsOfDocument, wordsOfMigration, wordsOfSource } from './tidy-words.ts'
import { packagesToTrim } from './trim-lock.ts'

const root = join(import.meta.dirname, '..')
const linesMax = 400
const filesMax = 36
/** One port a file, flat: it is the list of ports. */
const largeFolders = new Set(['server/src/ports'])
/** Folders of server/src and the folders each may import. A type may also come from `ports`. */
const layers: Record<string, readonly string[]> = {
  lib: ['lib'],
  domain: ['domain', 'lib'],
  ports: ['ports', 'domain', 'lib'],
  config: ['config', 'domain', 'lib'],
  telemetry: ['telemetry', 'domain', 'lib'],
  postgres: ['postgres', 'ports', 'domain', 'lib', 'telemetry'],
  engines: ['engines', 'ports', 'domain', 'lib', 'telemetry'],
  'embedded-postgres': ['embedded-postgres', 'lib', 'telemetry'],
  api: ['api', 'ports', 'domain', 'lib', 'telemetry'],
  scheduler: ['scheduler', 'ports', 'domain', 'lib', 'telemetry'],
  worker: ['worker', 'ports', 'domain', 'lib', 'telemetry'],
  history: ['history', 'ports', 'domain', 'lib', 'telemetry'],
  demo: ['demo', 'history', 'postgres', 'domain', 'lib', 'telemetry'],
  maintenance: ['maintenance', 'ports', 'domain', 'lib', 'telemetry'],
}

/** The folders of the layers that are divided by subject, and by technical parts where a layer has them. */
const subjects: Record<string, readonly string[]> = {
  domain: [
    'access',
    'executors',
    'graphs',
    'history',
    'jobs',
    'queue',
    'schedule',
    'scheduling',
    'tenants',
    'why',
  ],
  postgres: ['access', 'graphs', 'history', 'jobs', 'queue', 'scheduling', 'connection', 'schema', 'sql'],
  api: ['access', 'docs', 'events', 'executions', 'graphs', 'insights', 'jobs', 'workers', 'http'],
}

/** Folders that we ship, and folders of tests and their parts, which we do not. */
const shipped = /^(server|cli|sdk|contract|dashboard)\/(src|bin)\//
const unshipped = /^(server|cli|sdk|contract|dashboard)\/(test|testing)\//

/** Folders that put the program together: they may import everything. */
const everything = new Set(['process', 'wiring'])

/**
 * The files of wiring/ that may import postgres/: the composition root alone.
 * The others take ports, so that the simulator runs the same wiring on the store in memory.
 */
const wiringOnPostgres = new Set(['server/src/wiring/server.ts'])

/** Packages each layer or workspace may import besides `node:`. */
const packages: Record<string, readonly string[]> = {
  'server/src/domain': ['@carillon/contract'],
  'server/src/ports': ['@carillon/contract'],
  'server/src/telemetry': ['pino', '@prometheus-io/client'],
  'server/src/postgres': ['pg'],
  'server/src/embedded-postgres': ['pg'],
  'server/src/worker': ['@carillon/contract'],
  'server/src/demo': ['@carillon/contract'],
  'server/src/api': [
    'fastify',
    '@fastify/fast-json-stringify-compiler',
    '@fastify/swagger',
    'ajv',
    'ajv-formats',
    'markdown-it',
    '@carillon/contract',
  ],
  'contract/src': ['typebox'],
  'sdk/src': ['#contract'],
  'cli/src': ['@carillon/sdk', '@carillon/contract', '@carillon/server', 'eventsource-parser', 'yaml'],
  'dashboard/src': [
    '@carillon/contract',
    'react',
    'react-dom',
    '@tanstack/react-query',
    '@tanstack/react-router',
    '@tanstack/react-virtual',
    'eventsource-parser',
    'uplot',
  ],
}

/**
 * Where a file may reach into another workspace by path, because the SDK is compiled with the parts of the server it
 * needs.
 */
const crossings: { from: RegExp; to: RegExp }[] = [
  // The test kit runs on the server's own schedule engine and retry rules.
  { from: /^sdk\/src\/test-kit/, to: /^server\/src\/(domain|lib)\// },
  // "Did you mean" is said by the SDK and the CLI alike.
  { from: /^sdk\/src\/known-options\.ts$/, to: /^server\/src\/lib\/did-you-mean\.ts$/ },
  // A bundle's log lines look like a handler's.
  { from: /^server\/src\/worker\/executors\/artifact-runner\.ts$/, to: /^sdk\/src\/format-values\.ts$/ },
  // `--handlers` runs a handler by the SDK's own code.
  { from: /^server\/src\/worker\/executors\/handlers\.ts$/, to: /^sdk\/src\// },
  // The handlers of the demo world are made as a user's are.
  { from: /^server\/src\/demo\/handlers\.ts$/, to: /^sdk\/src\// },
]

/** Globals that escape the injected world, and the files that are their one home. */
const ambient: { pattern: RegExp; homes: readonly string[]; instead: string }[] = [
  { pattern: /\bDate\.now\(|\bnew Date\(/, homes: ['lib/time/epoch.ts'], instead: 'take a Clock' },
  {
    pattern: /\bperformance\.now\(|process\.hrtime/,
    homes: ['lib/time/clock.ts', 'process/main.ts'],
    instead: 'take a Clock',
  },
  {
    pattern: /\bMath\.random\(|\brandom(Bytes|UUID|Int)\b/,
    homes: ['lib/random.ts'],
    instead: 'take a Random',
  },
  { pattern: /\bset(Timeout|Interval|Immediate)\(/, homes: ['lib/time/timers.ts'], instead: 'take Timers' },
  { pattern: /\bAbortSignal\.timeout\(/, homes: [], instead: 'take Timers' },
  {
    pattern: /\bprocess\.env\b/,
    // The second one writes programs for readers of the docs.
    homes: ['config/read.ts', 'api/docs/docs-page-languages.ts'],
    instead: 'take a slice of the Config',
  },
  {
    pattern: /\bconsole\.(log|error|warn|info|debug)\b/,
    homes: ['process/console.ts', 'api/docs/docs-page-languages.ts'],
    instead: 'emit an event',
  },
  { pattern: /\bTemporal\b/, homes: ['domain/schedule/', 'process/main.ts'], instead: 'use EpochMs' },
]

const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { cwd: root })
  .toString()
  .split('\n')
  .filter((path) => path !== '' && existsSync(join(root, path)))
const sources: SourceFile[] = tracked
  .filter((path) => /\.tsx?$/.test(path))
  .map((path) => ({
    path,
    text: readFileSync(join(root, path), 'utf8'),
    isTest: /\.test\.ts$|\/test\//.test(path),
  }))

const rules: (() => string[])[] = [
  checkImports,
  checkAmbientGlobals,
  checkDeadExports,
  checkShape,
  checkDependencyOrigins,
  checkDocuments,
  checkMigrationNumbers,
  checkWords,
  checkFolderSizes,
  () => unknownSubjects(tracked),
]
if (import.meta.main) {
  const complaints = rules.flatMap((rule) => rule())
  for (const complaint of complaints) console.error(complaint)
  if (complaints.length > 0) process.exit(1)
}

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

function importsOf(file: SourceFile): { specifier: string; typeOnly: boolean }[] {
  const statics = file.text.matchAll(
    /^(?:import|export)\s+(type\s)?[^'"]*?from\s+'([^']+)'|^import '([^']+)'/gm,
  )
  const dynamics = file.text.matchAll(/\bimport\('([^']+)'\)/g)
  return [
    ...[...statics].map((m) => ({ specifier: (m[2] ?? m[3])!, typeOnly: m[1] !== undefined })),
    ...[...dynamics].map((m) => ({ specifier: m[1]!, typeOnly: false })),
  ]
}

function checkImports(): string[] {
  return sources
    .filter((file) => !file.isTest)
    .flatMap((file) => importsOf(file).flatMap((one) => judge(file, one)))
}

export function judge(
  file: SourceFile,
  { specifier, typeOnly }: { specifier: string; typeOnly: boolean },
): string[] {
  const folder = /^server\/src\/([^/]+)\//.exec(file.path)?.[1]
  const layer = folder !== undefined && everything.has(folder) ? undefined : folder
  if (specifier.startsWith('.')) {
    if (!/\.(tsx?|js|json|css)$/.test(specifier))
      return [`${file.path}: import ${specifier} with its .ts ending`]
    const target = normalize(join(dirname(file.path), specifier))
    if (shipped.test(file.path) && unshipped.test(target))
      return [`${file.path}: ${specifier} is not shipped; only tests may import it`]
    const workspace = file.path.split('/')[0]!
    // bench/ measures and tools/ serve the whole repository; nobody installs them.
    if (workspace === 'bench' || workspace === 'tools') return []
    if (target.split('/')[0] !== workspace) {
      const isAllowed = crossings.some(({ from, to }) => from.test(file.path) && to.test(target))
      return isAllowed ? [] : [`${file.path}: ${specifier} leaves the workspace; import it by package name`]
    }
    const targetLayer = /^server\/src\/([^/]+)\//.exec(target)?.[1]
    if (folder === 'wiring' && targetLayer === 'postgres' && !wiringOnPostgres.has(file.path))
      return [`${file.path}: wiring/ takes ports; only server.ts may import postgres/`]
    if (layer === undefined || targetLayer === undefined) return []
    if (typeOnly && targetLayer === 'ports') return []
    return layers[layer]?.includes(targetLayer)
      ? []
      : [`${file.path}: ${layer}/ may not import ${targetLayer}/`]
  }
  if (specifier.startsWith('node:')) return []
  const isPublished = specifier === '#contract/constants.ts'
  if (file.path.startsWith('sdk/src/') && specifier.startsWith('#contract/') && !typeOnly && !isPublished)
    return [`${file.path}: ${specifier} is not published with the SDK; import only its types`]
  const home = Object.keys(packages).find((dir) => file.path.startsWith(`${dir}/`))
  const allowed = home === undefined ? null : packages[home]!
  const free = layer === undefined && !file.path.match(/^(contract|sdk|cli|dashboard)\/src\//)
  if (free || allowed?.some((name) => specifier === name || specifier.startsWith(`${name}/`))) return []
  return [`${file.path}: may not import the package ${specifier} (see tools/tidy.ts)`]
}

function checkAmbientGlobals(): string[] {
  return sources
    .filter((file) => file.path.startsWith('server/src/') && !file.isTest)
    .flatMap((file) =>
      ambient
        .filter(({ homes }) => !homes.some((home) => file.path.startsWith(`server/src/${home}`)))
        .filter(({ pattern }) => pattern.test(withoutComments(file.text)))
        .map(({ pattern, instead }) => `${file.path}: matches ${pattern}; ${instead}`),
    )
}

// Types are left out: one that stands in an exported signature is exported for its reader.
function checkDeadExports(): string[] {
  // The last one is loaded as a user's file of handlers is.
  const published = /^(sdk\/src\/test-kit|server\/src\/demo\/handlers)\.ts$/
  return sources
    .filter((file) => !file.isTest && !published.test(file.path) && !file.path.startsWith('contract/'))
    .flatMap((file) => {
      const names = [...file.text.matchAll(/^export (?:async )?(?:const|function\*?|class) (\w+)/gm)]
      return names
        .map((match) => match[1]!)
        .filter((name) => {
          const word = new RegExp(`\\b${name}\\b`)
          return !sources.some((other) => other !== file && word.test(other.text))
        })
        .map((name) => `${file.path}: nobody imports ${name}; do not export it`)
    })
}

function checkShape(): string[] {
  return sources.flatMap((file) => {
    const found: string[] = []
    const lines = file.text.split('\n')
    if (lines.length > linesMax) found.push(`${file.path}: ${lines.length} lines; ${linesMax} at most`)
    if (/\b(TODO|FIXME|XXX)\b(?!.*#\d)/.test(file.text) && file.path !== 'tools/tidy.ts') {
      found.push(`${file.path}: a TODO without an issue number`)
    }
    if (/\b(?:test|it|describe)\.(?:skip|todo|only)\b/.test(file.text))
      found.push(`${file.path}: a skipped or exclusive test`)
    if (/\/(index|types|utils?|helpers?)\.ts$/.test(file.path))
      found.push(`${file.path}: name the file after its one idea`)
    if (
      !file.isTest &&
      /^(server|cli|sdk|contract|dashboard)\/src\//.test(file.path) &&
      !/^(#!.*\n)?\/\//.test(file.text)
    ) {
      found.push(`${file.path}: open with a comment that says what the file is for`)
    }
    return found
  })
}

// A lock file with addresses pins everybody to the registry of its author.
function checkDependencyOrigins(): string[] {
  const lock = readFileSync(join(root, 'package-lock.json'), 'utf8')
  const found = /"resolved": "https?:/.test(lock) ? ['package-lock.json: carries download addresses'] : []
  const missing = Object.entries(
    JSON.parse(lock).packages as Record<string, { integrity?: string; link?: boolean }>,
  )
    .filter(
      ([path, entry]) =>
        path.includes('node_modules/') && entry.link !== true && entry.integrity === undefined,
    )
    .map(([path]) => `package-lock.json: ${path} has no integrity hash`)
  const untrimmed = packagesToTrim(JSON.parse(lock)).map(
    (path) =>
      `package-lock.json: ${path} names the Node it asks for or an install script, or may be compiled: npm run add mends that`,
  )
  return [...found, ...missing, ...untrimmed]
}

function checkDocuments(): string[] {
  const inRoot = (path: string) => existsSync(join(root, path))
  const documents = tracked.filter((path) => path.endsWith('.md'))
  const records = documents
    .filter((path) => /^docs\/decisions\/\d/.test(path))
    .map((path) => ({ name: basename(path), text: read(path) }))
  return [
    ...documents.flatMap((path) => [
      ...deadLinks(path, read(path), inRoot),
      ...wordsOfDocument(path, read(path)),
    ]),
    ...checkDecisionIndex(read('docs/decisions/README.md'), records),
  ]
}

function checkMigrationNumbers(): string[] {
  const dir = 'server/src/postgres/schema/migrations'
  return tracked
    .filter((path) => path.startsWith(`${dir}/`))
    .toSorted()
    .flatMap((path, index) => {
      const expected = `${String(index + 1).padStart(4, '0')}-`
      return relative(dir, path).startsWith(expected)
        ? []
        : [`${path}: the next migration starts with ${expected}`]
    })
}

function checkWords(): string[] {
  const migrations = tracked.filter((path) => path.endsWith('.sql') && path.includes('/migrations/'))
  return [
    ...sources.flatMap(wordsOfSource),
    ...migrations.flatMap((path) => wordsOfMigration(path, read(path))),
  ]
}

function checkFolderSizes(): string[] {
  const shipped = sources.filter(({ path, isTest }) => path.startsWith('server/src/') && !isTest)
  return [...Map.groupBy(shipped, ({ path }) => dirname(path))]
    .filter(([folder, files]) => files.length > filesMax && !largeFolders.has(folder))
    .map(([folder, files]) => `${folder}/: ${files.length} files; ${filesMax} at most: split it by subject`)
}

/** A new subject is added to the list, and then to the layers that it needs. */
export function unknownSubjects(paths: readonly string[]): string[] {
  const folders = new Set(
    paths.flatMap((path) => /^server\/src\/(\w+)\/([^/]+)\/./.exec(path)?.slice(1, 3).join('/') ?? []),
  )
  return [...folders].flatMap((folder) => {
    const [layer, name] = folder.split('/') as [string, string]
    const known = subjects[layer]
    return known === undefined || known.includes(name)
      ? []
      : [`server/src/${folder}/: no known subject; use one of tools/tidy.ts, or list it there`]
  })
}
