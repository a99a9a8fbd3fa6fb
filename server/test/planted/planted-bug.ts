// A bug that is put into the source while it is loaded: one line replaced by another. The program does not contain it;
// if the line no longer exists, the bug cannot be planted, and an error says so.

export interface PlantedBug {
  name: string
  /** Below server/src. */
  file: string
  /** Part of a single line, found exactly once in the file. */
  find: string
  replace: string
  /** The error, as described to a reader of the table. */
  wrong: string
}

/** The name of the bug to plant, read by `register.ts` in every process that is started with it. */
export const plantedVariable = 'PLANTED_BUG'

export function plant(source: string, { name, file, find, replace }: PlantedBug): string {
  if (find.includes('\n') || replace.includes('\n')) throw new Error(`planted bug "${name}" is not one line`)
  const found = source.split(find).length - 1
  if (found !== 1)
    throw new Error(`planted bug "${name}": its text is in ${file} ${found} times, not once: ${find}`)
  return source.replace(find, () => replace)
}
