// Which bundle an attempt runs: the one that the tenant has put under its id, else the operator's for all tenants. The
// tenant is asked for each time, also when the bundle is here already: a checksum is no permission.
import { hash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { ArtifactExecution } from '../../domain/executors/artifact.ts'
import { type Artifacts, artifactBytesMax } from '../../ports/artifacts.ts'

export interface BundleSource {
  artifacts: Pick<Artifacts, 'get' | 'read'>
  /** Null: there are only the artifacts of the tenants. */
  artifactsDir: string | null
}

export interface FoundBundle {
  sha256: string
  fetch: () => Promise<Uint8Array>
}

/** The attempt cannot run, and another one could not either. */
export class NoBundle extends Error {}

/** Somebody may replace it while we read. */
const triesMax = 3

export async function findBundle(
  { artifacts, artifactsDir }: BundleSource,
  tenantId: string,
  { artifact_id: id, sha256: wanted }: ArtifactExecution,
): Promise<FoundBundle> {
  const stored = await artifacts.get(tenantId, id)
  if (stored !== null) {
    const { sha256 } = stored
    checkWanted(id, sha256, wanted)
    return { sha256, fetch: () => readStored(artifacts, { tenantId, id, sha256 }) }
  }
  const content = artifactsDir === null ? null : await readFromDirectory(artifactsDir, id)
  if (content === null) throw new NoBundle(`There is no artifact ${id}.`)
  const sha256 = hash('sha256', content)
  checkWanted(id, sha256, wanted)
  return { sha256, fetch: async () => content }
}

function checkWanted(id: string, found: string, wanted: string | undefined): void {
  if (wanted === undefined || wanted.toLowerCase() === found) return
  throw new NoBundle(
    `/execution/sha256: the artifact ${id} has the checksum ${found}, and the job wants ${wanted.toLowerCase()}.`,
  )
}

async function readStored(
  artifacts: BundleSource['artifacts'],
  { tenantId, id, sha256 }: { tenantId: string; id: string; sha256: string },
): Promise<Uint8Array> {
  for (let tries = 0; tries < triesMax; tries++) {
    const content = await artifacts.read(tenantId, id, sha256)
    if (content !== null) return content
  }
  throw new Error(`the artifact ${id} was replaced while it was read`)
}

async function readFromDirectory(directory: string, id: string): Promise<Uint8Array | null> {
  try {
    await using file = await open(join(directory, `${id}.tar.gz`))
    const { size } = await file.stat()
    if (size > artifactBytesMax) throw new NoBundle(`${id}.tar.gz is larger than ${artifactBytesMax} bytes.`)
    return await file.readFile()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
