// `--filter name=value`, several times or with commas between: which jobs, executions or dead letters.

import { didYouMean } from '@carillon/server/lib/did-you-mean.ts'
import { CliError, EXIT } from './exit-code.ts'

export type Filter = Record<string, string>

/** `names`: the allowed filters, each with its field in the API. */
export function readFilter(given: readonly string[], names: Readonly<Record<string, string>>): Filter {
  const filter: Filter = {}
  // A comma parts conditions, unless it stands in a value.
  for (const condition of given.flatMap((text) => text.split(/,(?=[\w-]+=)/))) {
    const match = /^\s*([\w-]+)\s*=\s*(.+?)\s*$/s.exec(condition)
    const known = Object.keys(names)
    if (match === null) {
      throw new CliError(EXIT.usage, `--filter is NAME=VALUE, such as tag=reporting, not "${condition}".`, [
        `Names: ${known.join(', ')}`,
      ])
    }
    const field = names[match[1]!]
    if (field === undefined) {
      throw new CliError(EXIT.usage, `there is no filter "${match[1]}".${didYouMean(match[1]!, known)}`, [
        `Names: ${known.join(', ')}`,
      ])
    }
    filter[field] = /status|reason|error/.test(field) && field !== 'q' ? match[2]!.toUpperCase() : match[2]!
  }
  return filter
}

export function writeFilter(given: readonly string[]): string {
  return given.length === 0 ? '' : `with ${given.join(', ')}`
}
