// Pages that end early, at so many bytes or items.
import type { JobVersion } from '../../src/domain/jobs/job.ts'
import type { JsonText, PageContent } from '../../src/ports/pages.ts'

/** The names of the fields of an item, its ids, instants and numbers, in JSON. */
const itemBytes = 1_500

interface Bounds extends PageContent {
  limit: number
}

/** At least one item, if there are any. `textsOf`: everything of an item that may be long. */
export function boundedPage<Item>(
  items: readonly Item[],
  { limit, bytesMax, payloads }: Bounds,
  textsOf: (item: Item) => { lean: unknown; payload: JsonText | null },
): { page: (Item & { payload: JsonText | null })[]; more: boolean } {
  const page: (Item & { payload: JsonText | null })[] = []
  let bytes = 0
  for (const item of items.slice(0, limit)) {
    const { lean, payload: whole } = textsOf(item)
    const payload = payloads ? whole : null
    bytes += itemBytes + bytesOf(JSON.stringify(lean)) + bytesOf(payload ?? '')
    if (page.length > 0 && bytes > bytesMax) break
    page.push({ ...item, payload })
  }
  return { page, more: items.length > page.length }
}

/** A version without its payload, and that as JSON. */
export function splitPayload<Version extends JobVersion>(version: Version) {
  const { payload, ...execution } = version.execution
  const lean = structuredClone({ ...version, execution }) as Version
  return { lean, payload: payload === undefined ? null : JSON.stringify(payload) }
}

function bytesOf(text: string): number {
  return Buffer.byteLength(text)
}
