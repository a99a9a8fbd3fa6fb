// The search index of the docs: every heading of the guides and every call and error of the API reference, with its text.
// It is a script, because the policy of the pages lets them load scripts of this server and make no calls.
import { ERRORS } from '@carillon/contract/errors.ts'
import { groupsOf } from './docs-groups.ts'
import { type DocSchema, type Document, resolve } from './docs-page-document.ts'
import { idOf } from './docs-page-operation.ts'
import { addressOf, titlesOf } from './guide-html.ts'
import { type GuidePage, type GuideSection, readText } from './guide-pages.ts'
import { readPassages } from './markdown.ts'

/** The form that the script docs-search.js reads: short, because browsers load all of it. */
export interface SearchIndex {
  /** Title, address, and the weight of its passages in the ranking. */
  pages: [title: string, address: string, weight: number][]
  /** Position in `pages`, id on that page (empty: its top), heading, text. */
  passages: [page: number, id: string, heading: string, text: string][]
}

/** Of one passage: a longer one is found by its beginning. */
const passageCharactersMax = 8_000
/** Of all passages together: beyond it they are found by their headings only. */
const indexCharactersMax = 1_500_000

/** A reader of the docs looks for instructions, not for the reasons of a decision or the tables of the database. */
const lightSections = /^(Decisions|Internals)$/
const lightPages = /^(CHANGELOG|CONTRIBUTING)\.md$|^docs\/(vocabulary|architecture|comparison)\.md$/

export async function renderSearchIndex(
  sections: readonly GuideSection[],
  document: Document,
): Promise<string> {
  return `export const index = ${JSON.stringify(await makeSearchIndex(sections, document))}\n`
}

/** In turns of a page each (100 ms of CPU in all): between two of them the server does other work. */
export async function makeSearchIndex(
  sections: readonly GuideSection[],
  document: Document,
  charactersMax = indexCharactersMax,
): Promise<SearchIndex> {
  const index: SearchIndex = { pages: [], passages: [] }
  let left = charactersMax
  const add = (id: string, heading: string, text: string) => {
    const kept = text.slice(0, Math.min(left, passageCharactersMax))
    left -= kept.length
    index.passages.push([index.pages.length - 1, id, heading, kept])
  }
  const guides = sections.flatMap(({ title, pages }) =>
    pages.map((page) => ({ page, weight: weightOf(title, page) })),
  )
  // If the space should ever run out, it runs out for the pages that matter least.
  const byWeight = guides.toSorted((one, other) => other.weight - one.weight)
  for (const { page, weight } of byWeight.filter((one) => one.weight === 1)) await addGuide(page, weight)
  addReference()
  for (const { page, weight } of byWeight.filter((one) => one.weight < 1)) await addGuide(page, weight)
  return index

  async function addGuide(page: GuidePage, weight: number): Promise<void> {
    const source = await readText(page)
    index.pages.push([page.label, addressOf(page), weight])
    for (const { level, id, text, words } of readPassages(source, titlesOf(sections, page)))
      add(level === 1 ? '' : id, text, words)
  }

  function addReference(): void {
    index.pages.push(['API reference', '/docs/api', 0.9])
    for (const operation of groupsOf(document).flatMap(({ operations }) => operations)) {
      const { method, path, summary, description = '', parameters = [], requestBody } = operation
      const fields = Object.values(requestBody?.content ?? {}).slice(0, 1)
      const words = [
        `${method.toUpperCase()} ${path}.`,
        description,
        ...parameters.map(({ name, description: about = '' }) => `${name}: ${about}`),
        ...fields.flatMap(({ schema = {} }) => fieldsOf(document, schema, 0)),
      ]
      add(idOf(operation), summary ?? path, words.join(' ').replaceAll('`', ''))
    }
    for (const [code, { status, title, help }] of Object.entries(ERRORS))
      add(`error-${code}`, code, `${status}: ${title}. ${help}`.replaceAll('`', ''))
  }
}

function weightOf(section: string, { file }: GuidePage): number {
  return lightSections.test(section) || lightPages.test(file) ? 0.4 : 1
}

/** Names and descriptions of the fields of a body and of the objects in it. */
function fieldsOf(document: Document, given: DocSchema, depth: number): string[] {
  const schema = resolve(document, given)
  const parts = [schema, ...(schema.allOf ?? []), ...(schema.oneOf ?? []), ...(schema.anyOf ?? [])]
  return parts.flatMap((part) =>
    Object.entries(resolve(document, part).properties ?? {}).flatMap(([name, field]) => [
      `${name}: ${field.description ?? ''}`,
      ...(depth < 2 ? fieldsOf(document, field, depth + 1) : []),
    ]),
  )
}
