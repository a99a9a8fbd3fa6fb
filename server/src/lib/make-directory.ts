// Makes a directory and its missing parents. Not `mkdir` with `recursive`: that one loops endlessly, beyond the reach
// of any signal, where the file system answers "no such file" to a directory with an existing parent (under /proc).
import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

export async function makeDirectory(path: string, mode: number): Promise<void> {
  try {
    await mkdir(path, { mode })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' && (await stat(path)).isDirectory()) return
    if (code !== 'ENOENT' || dirname(path) === path || (await exists(dirname(path)))) throw error
    await makeDirectory(dirname(path), mode)
    await makeDirectory(path, mode)
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
