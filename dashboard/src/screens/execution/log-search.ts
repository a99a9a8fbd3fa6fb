// Looking for a text in a log.
import type { LogList } from '@carillon/contract/worker.ts'

export type Line = LogList['logs'][number]

/** The lines that contain the text, ignoring case. */
export function searchLines(lines: readonly Line[], text: string): readonly Line[] {
  const wanted = text.trim().toLowerCase()
  return wanted === '' ? lines : lines.filter(({ message }) => message.toLowerCase().includes(wanted))
}
