// shell: a program on the machine of one of our workers, if the operator has allowed it there.
import type { AnyExecution } from '../jobs/job.ts'
import type { ExecutorKind } from './kind.ts'

export interface ShellExecution extends AnyExecution {
  type: 'shell'
  /** An absolute path. */
  command: string
  args: readonly string[]
  env: Readonly<Record<string, string>>
}

const envName = /^[A-Za-z_][A-Za-z0-9_]*$/

export const shell: ExecutorKind<ShellExecution> = {
  route: 'shell',
  isolates: true,
  isAllowed: ({ shellCommands }) => shellCommands.length > 0,
  nobodyText: () => 'no worker that may run shell commands is up; CARILLON_SHELL_COMMANDS allows them',
  check({ env }) {
    for (const name of Object.keys(env)) {
      const path = ['env', name]
      if (name.startsWith('CARILLON_')) return { path, detail: 'is set by Carillon itself' }
      if (!envName.test(name)) return { path, detail: 'is not a valid name: letters, digits and _' }
    }
    return null
  },
}
