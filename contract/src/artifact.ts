// Artifacts: bundles of code that jobs run. The body of the PUT is the bundle itself.
import Type from 'typebox'
import { Pagination, pageParameters } from './pagination.ts'
import { instant } from './shapes.ts'

export const checksumPattern = '^[0-9a-fA-F]{64}$'
/** Content types that a bundle may have: it is a .tar.gz in any case. */
export const BUNDLE_TYPES = ['application/gzip', 'application/octet-stream'] as const

const strict = { additionalProperties: false } as const

export const Artifact = Type.Object(
  {
    artifact_id: Type.String(),
    sha256: Type.String({ description: 'Of the bundle, in hex.' }),
    bytes: Type.Integer(),
    created_at: instant('When it was put there.'),
    created_by: Type.String({ description: 'Whose key it was.' }),
  },
  { ...strict, description: 'The artifact; its content is not sent back.' },
)
export type Artifact = Type.Static<typeof Artifact>

export const ArtifactListQuery = Type.Object(pageParameters, strict)
export type ArtifactListQuery = Type.Static<typeof ArtifactListQuery>

export const ArtifactList = Type.Object(
  { artifacts: Type.Array(Artifact), pagination: Pagination },
  { ...strict, description: 'A page of the list, by id.' },
)
export type ArtifactList = Type.Static<typeof ArtifactList>
