// Orders jobs so that each comes after the jobs that it depends on.
import { CliError, EXIT } from './exit-code.ts'
import type { Document } from './job-document.ts'
import type { Placed } from './manifest.ts'

export interface Parent {
  key?: string
  job_id?: string
  on?: string
}

/** A text alone is a key. */
export function parentsOf(document: Document): Parent[] {
  const given = document['depends_on']
  if (!Array.isArray(given)) return []
  return given.map((parent: unknown) => {
    if (typeof parent === 'string') return { key: parent }
    if (typeof parent === 'object' && parent !== null) return parent
    throw new CliError(
      EXIT.usage,
      `"${document['key']}" runs after ${JSON.stringify(parent)}, which is not a key.`,
    )
  })
}

/** As an export writes them: without the rule that is the default. */
export function plainParents(document: Document): Parent[] {
  return parentsOf(document).map(({ on, ...named }) =>
    on === undefined || on === 'success' ? named : { ...named, on },
  )
}

export function orderByParents(jobs: readonly Placed[]): Placed[] {
  const byKey = new Map(jobs.map((placed) => [String(placed.job['key']), placed]))
  const ordered: Placed[] = []
  const done = new Set<string>()
  const visit = (key: string, path: readonly string[]): void => {
    const placed = byKey.get(key)
    if (placed === undefined || done.has(key)) return
    if (path.includes(key)) {
      const circle = [...path.slice(path.indexOf(key)), key].join(' after ')
      throw new CliError(EXIT.refused, `${placed.where}: the dependencies form a cycle: ${circle}.`)
    }
    for (const parent of parentsOf(placed.job))
      if (parent.key !== undefined) visit(parent.key, [...path, key])
    done.add(key)
    ordered.push(placed)
  }
  for (const key of byKey.keys()) visit(key, [])
  return ordered
}
