// artifact: code from an uploaded bundle, run on the machine of one of our workers, if the operator has allowed it there.
import type { AnyExecution } from '../jobs/job.ts'
import type { ExecutorKind } from './kind.ts'

export interface ArtifactExecution extends AnyExecution {
  type: 'artifact'
  artifact_id: string
  /** The required SHA-256 of the bundle, 64 hex digits; absent: any bundle that has this id when the attempt starts. */
  sha256?: string
  /** `file:function`, or the path of an executable in the bundle. */
  entrypoint: string
}

const functionName = /^[A-Za-z_$][\w$]*$/

export const artifact: ExecutorKind<ArtifactExecution> = {
  route: 'artifact',
  isolates: true,
  isGivenParents: true,
  isAllowed: ({ artifacts }) => artifacts,
  nobodyText: () => 'no worker that may run artifacts is up; CARILLON_ARTIFACTS=on allows them',
  check({ entrypoint }) {
    const [path, name, ...more] = entrypoint.split(':')
    const isPath = path!.split('/').every((part) => part !== '' && part !== '.' && part !== '..')
    const isName = name === undefined || functionName.test(name)
    if (isPath && isName && more.length === 0 && !entrypoint.includes('\\')) return null
    const detail = 'must be file:function, or a path in the bundle that does not leave it'
    return { path: ['entrypoint'], detail }
  },
  normalize: ({ sha256, ...rest }) => ({ ...rest, ...(sha256 && { sha256: sha256.toLowerCase() }) }),
}
