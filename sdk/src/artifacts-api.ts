// client.artifacts: bundles of code that jobs of type artifact run.
import type { Artifact, ArtifactList, ArtifactListQuery } from '#contract/artifact.ts'
import type { Call, CallOptions, WriteOptions } from './call.ts'
import { createList, type List } from './list.ts'

export interface ArtifactsApi {
  /** Puts a bundle there, a .tar.gz, or replaces it. With `sha256` (hex) it is refused unless it has this checksum. */
  put(artifactId: string, bundle: Uint8Array, options?: WriteOptions & { sha256?: string }): Promise<Artifact>
  get(artifactId: string, options?: CallOptions): Promise<Artifact>
  /** By id. */
  list(query?: ArtifactListQuery, options?: CallOptions): List<Artifact, ArtifactList>
  delete(artifactId: string, options?: WriteOptions): Promise<void>
}

const root = '/api/v1/artifacts'

export function createArtifactsApi(call: Call): ArtifactsApi {
  const pathOf = (artifactId: string) => `${root}/${encodeURIComponent(artifactId)}`
  return {
    put: (id, bundle, { sha256, ...options } = {}) =>
      call(
        {
          method: 'PUT',
          path: pathOf(id),
          query: sha256 === undefined ? {} : { sha256 },
          body: bundle,
          headers: { 'content-type': 'application/gzip' },
          repeat: 'same',
        },
        options,
      ),
    get: (id, options) => call({ path: pathOf(id), repeat: 'same' }, options),
    list: (query, options) =>
      createList(
        (cursor) =>
          call<ArtifactList>(
            { path: root, query: { ...query, ...(cursor !== undefined && { cursor }) }, repeat: 'same' },
            options,
          ),
        ({ artifacts }) => artifacts,
      ),
    // A second time it is not there any more, which would look like a failure.
    delete: (id, options) => call({ method: 'DELETE', path: pathOf(id), repeat: 'once' }, options),
  }
}
