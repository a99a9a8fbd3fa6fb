// client.artifacts: bundles of code that jobs of type artifact run.
import type { Artifact, ArtifactList, ArtifactListQuery } from '#contract/artifact.ts'
import type { Call, CallOptions, WriteOptions } from './call.ts'
import type { List } from './list.ts'
import { resource } from './resource.ts'

export interface ArtifactsApi {
  /** Puts a bundle there, a .tar.gz, or replaces it. With `sha256` (hex) it is refused unless it has this checksum. */
  put(artifactId: string, bundle: Uint8Array, options?: WriteOptions & { sha256?: string }): Promise<Artifact>
  get(artifactId: string, options?: CallOptions): Promise<Artifact>
  /** By id. */
  list(query?: ArtifactListQuery, options?: CallOptions): List<Artifact, ArtifactList>
  delete(artifactId: string, options?: WriteOptions): Promise<void>
}

export function createArtifactsApi(call: Call): ArtifactsApi {
  const { get, list, remove, pathOf } = resource(call, '/api/v1/artifacts')
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
    get,
    list: (query, options) => list((page: ArtifactList) => page.artifacts, query, options),
    delete: remove,
  }
}
