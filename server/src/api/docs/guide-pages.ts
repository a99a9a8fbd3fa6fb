// The pages of docs/ as the server has them: which there are, in which order they are shown, and how they are called.
import { readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** One file of Markdown under the name it has in addresses. */
export interface GuidePage {
  /** `schedules`, `decisions/0001-…`; the index is empty. */
  name: string
  /** From the root of the checkout. */
  file: string
  title: string
  /** In the contents. */
  label: string
  /** The first words of it. */
  about: string
  text: string
}

export interface GuideSection {
  title: string
  pages: GuidePage[]
}

const root = join(import.meta.dirname, '../../../..')

/** Pages by file, in the order for a new reader. Files in docs/ that are not listed here come last. */
const order: Record<string, readonly string[]> = {
  'First steps': [
    'docs/README.md',
    'docs/quickstart.md',
    'docs/concepts.md',
    'docs/recipes.md',
    'docs/migrate.md',
  ],
  Jobs: [
    'docs/schedules.md',
    'docs/retries.md',
    'docs/dependencies.md',
    'docs/receivers.md',
    'docs/executors.md',
    'sdk/README.md',
    'docs/sdk.md',
  ],
  API: ['docs/api.md', 'docs/cli.md', 'docs/access.md', 'docs/errors.md'],
  Operating: [
    'docs/config.md',
    'docs/operations.md',
    'docs/guarantees.md',
    'docs/performance.md',
    'docs/architecture.md',
  ],
  About: [
    'docs/comparison.md',
    'docs/vocabulary.md',
    'docs/decisions/README.md',
    'CHANGELOG.md',
    'CONTRIBUTING.md',
  ],
}
/** Where the name of the file is not the name of the page. */
const names: Record<string, string> = {
  'docs/README.md': '',
  // /docs/api is the reference that is made from the OpenAPI document.
  'docs/api.md': 'api-by-example',
  'docs/decisions/README.md': 'decisions',
  'docs/internals/README.md': 'internals',
  'sdk/README.md': 'sdk-first-steps',
  'CHANGELOG.md': 'changelog',
  'CONTRIBUTING.md': 'contributing',
}

/** Where the title says too little, or too much, for a list. */
const labels: Record<string, string> = {
  'docs/README.md': 'Overview',
  'docs/migrate.md': 'Coming from another scheduler',
  'docs/concepts.md': 'Concepts and glossary',
  'docs/dependencies.md': 'Graphs: one job after another',
  'docs/receivers.md': 'HTTP targets',
  'docs/api.md': 'API by example',
  'sdk/README.md': 'SDK, first steps',
  'docs/sdk.md': 'SDK reference',
  'docs/access.md': 'Tenants and keys',
  'docs/guarantees.md': 'Guarantees',
  'docs/comparison.md': 'Comparison',
  'docs/vocabulary.md': 'Vocabulary of the code',
}

/** Empty where the docs were not installed. */
export function readGuide(): GuideSection[] {
  const listed = Object.values(order).flat()
  const found = listFiles()
  const sections = Object.entries(order).map(([title, files]) => ({
    title,
    pages: files.filter((file) => found.has(file)).map(readPage),
  }))
  const others = [...found].filter((file) => !listed.includes(file)).toSorted()
  const isInternal = (file: string) => file.startsWith('docs/internals/')
  const isDecision = (file: string) => file.startsWith('docs/decisions/')
  const isOther = (file: string) => !isInternal(file) && !isDecision(file)
  const more = [
    { title: 'More', pages: others.filter(isOther).map(readPage) },
    { title: 'Internals', pages: others.filter(isInternal).map(readPage) },
    { title: 'Decisions', pages: others.filter(isDecision).map(readPage) },
  ]
  return found.has('docs/README.md') ? [...sections, ...more].filter(({ pages }) => pages.length > 0) : []
}

function listFiles(): Set<string> {
  const within = (folder: string, accept = /\.md$/) =>
    listFolder(folder)
      .filter((name) => accept.test(name))
      .map((name) => (folder === '.' ? name : `${folder}/${name}`))
  return new Set([
    ...within('docs'),
    ...within('docs/internals'),
    ...within('docs/decisions'),
    ...within('sdk', /^README\.md$/),
    ...within('.', /^(CHANGELOG|CONTRIBUTING)\.md$/),
  ])
}

function listFolder(folder: string): string[] {
  try {
    return readdirSync(join(root, folder))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

function readPage(file: string): GuidePage {
  const text = readFileSync(join(root, file), 'utf8')
  const title = /^# (.+)$/m.exec(text)?.[1] ?? file
  const name = names[file] ?? file.replace(/^docs\//, '').replace(/\.md$/, '')
  return { name, file, title, label: labels[file] ?? title, about: firstWords(text), text }
}

/** The text of a page as it is on the disk now, read without holding up the process. */
export function readText({ file }: GuidePage): Promise<string> {
  return readFile(join(root, file), 'utf8')
}

const aboutMax = 200

/** The first paragraph after the title, as plain text, up to the end of a sentence. */
function firstWords(text: string): string {
  const paragraph = text
    .replace(/^# .*$/m, '')
    .split(/\n\s*\n/)
    .find((part) => /^[A-Za-z`*[]/.test(part.trim()))
  const plain = (paragraph ?? '')
    .replace(/\[([^\]]+)\]\([^)]*\)/g, '$1')
    .replace(/[`*]/g, '')
    .replace(/\s+/g, ' ')
    .trim()
  const sentence = /^.*?[.:](?=\s|$)/.exec(plain)?.[0] ?? plain
  return sentence.slice(0, aboutMax)
}

const imageBytesMax = 4_000_000

/** A picture of docs/images; null: there is none of this name. */
export function readImage(name: string): Buffer | null {
  if (!/^[\w-]+\.png$/.test(name) || !listFolder('docs/images').includes(name)) return null
  const bytes = readFileSync(join(root, 'docs/images', name))
  return bytes.length > imageBytesMax ? null : bytes
}
