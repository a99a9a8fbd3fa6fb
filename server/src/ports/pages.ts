// Terms that the lists of several ports share.
import { pageBytesMax } from '@carillon/contract/constants.ts'

/** A JSON document as the store wrote it. It is passed on, and never read on the way. */
export type JsonText = string

/** How much of its items a page holds. */
export interface PageContent {
  /** Whether the items carry their payloads. If not, no payload is read. */
  payloads: boolean
  /**
   * The page ends before the item that would take it over so many bytes, as JSON; it has at least one. Items behind it are
   * not read.
   */
  bytesMax: number
}

/** Of a page besides its items. */
const framingBytes = 1_024

/** Of the items of a page. */
export const pageItemsBytesMax = pageBytesMax - framingBytes

/** Of a list that nobody shows. */
export const leanPage: PageContent = { payloads: false, bytesMax: pageItemsBytesMax }
