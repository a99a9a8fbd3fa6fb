// Artifacts: bundles of code that jobs run. The body of the PUT is the bundle itself.

import { pageOf, pageParameters } from './pagination.ts'
import { describedObject, instant, strictObject } from './shapes.ts'
import * as Type from './type.ts'

/** Accepted content types of a bundle; its format is .tar.gz with either. */
export const BUNDLE_TYPES = ['application/gzip', 'application/octet-stream'] as const

export const Artifact = describedObject('The artifact, without its content.', {
  artifact_id: Type.String(),
  sha256: Type.String({ description: 'SHA-256 of the bundle, in hex.' }),
  bytes: Type.Integer(),
  created_at: instant('Time of the upload.'),
  created_by: Type.String({ description: 'The name of the API key that uploaded it.' }),
})
export type Artifact = Type.Static<typeof Artifact>

export const ArtifactListQuery = strictObject(pageParameters)
export type ArtifactListQuery = Type.Static<typeof ArtifactListQuery>

export const ArtifactList = pageOf('A page of the list, by id.', { artifacts: Type.Array(Artifact) })
export type ArtifactList = Type.Static<typeof ArtifactList>
