// The operations of the OpenAPI document in the groups and in the order in which the reference shows them.
import type { Document } from './docs-page-document.ts'
import type { PlacedOperation } from './docs-page-operation.ts'

export interface Group {
  name: string
  description: string
  operations: PlacedOperation[]
}

/** In the order of the document's tags; operations with a tag that is not among them come last. */
export function groupsOf(document: Document): Group[] {
  const groups = new Map<string, Group>(
    (document.tags ?? []).map(({ name, description = '' }) => [name, { name, description, operations: [] }]),
  )
  for (const [path, item] of Object.entries(document.paths ?? {})) {
    for (const [method, operation] of Object.entries(item)) {
      const name = operation.tags?.[0] ?? 'other'
      if (!groups.has(name)) groups.set(name, { name, description: '', operations: [] })
      const { operations } = groups.get(name)!
      const same = operations.find((one) => one.path === path && one.summary === operation.summary)
      if (same === undefined) operations.push({ ...operation, method, path, also: [] })
      else same.also.push(method)
    }
  }
  return [...groups.values()].filter(({ operations }) => operations.length > 0)
}
