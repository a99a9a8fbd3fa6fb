// Looking for a text in a log.
import type { LogList } from '@carillon/contract/worker.ts'

export type Line = LogList['logs'][number]

/** Those that have the text, in any case. */
export function searchLines(lines: readonly Line[], text: string): readonly Line[] {
  const wanted = text.trim().toLowerCase()
  return wanted === '' ? lines : lines.filter(({ message }) => message.toLowerCase().includes(wanted))
}
