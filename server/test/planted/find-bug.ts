// Every bug that can be planted, by its name.
import { BUGS } from './bugs.ts'
import type { PlantedBug } from './planted-bug.ts'
import { STORE_BUGS } from './store-bugs.ts'

export function findBug(name: string): PlantedBug {
  const bug = [...BUGS, ...STORE_BUGS].find((one) => one.name === name)
  if (bug === undefined) throw new Error(`there is no planted bug "${name}"`)
  return bug
}
