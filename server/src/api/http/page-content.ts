// `include` of a list, and the bytes of its pages.
import type { INCLUDES } from '@carillon/contract/pagination.ts'
import { type PageContent, pageItemsBytesMax } from '../../ports/pages.ts'

/** The terms of a page as the stores take them. */
export function contentOf({ include }: { include?: (typeof INCLUDES)[number] }): PageContent {
  return { payloads: include === 'payload', bytesMax: pageItemsBytesMax }
}
