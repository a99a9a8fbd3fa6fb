// /api/v1/artifacts: bundles of code that jobs run. In a scope of its own, as its bodies are no JSON.
import { hash } from 'node:crypto'
import {
  Artifact,
  ArtifactList,
  ArtifactListQuery,
  BUNDLE_TYPES,
  checksumPattern,
} from '@carillon/contract/artifact.ts'
import { artifactIdPattern } from '@carillon/contract/executors/artifact.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { toRfc3339 } from '../../lib/time/epoch.ts'
import { type Artifacts, type ArtifactView, artifactBytesMax, artifactsMax } from '../../ports/artifacts.ts'
import { noParameters, problemResponses, security } from '../docs/openapi.ts'
import { ApiError } from '../http/api-error.ts'
import { cursorBehind, limitOf, paginationOf, readNameCursor } from '../http/cursor.ts'
import { refuseField } from '../http/problem.ts'
import { answerWrite, emptyInDryRun, type WriteDeps, writeQuery } from '../http/write.ts'

export interface ArtifactDeps extends WriteDeps {
  artifacts: Artifacts
}

const tags = ['artifacts']
const idPattern = new RegExp(artifactIdPattern)
type ArtifactParams = { artifact_id: string }

/** Bundles that are being received at once: each is held in memory. */
const uploadsMax = 8
const gzipMagic = [0x1f, 0x8b]

export function artifactRoutes(app: FastifyInstance, deps: ArtifactDeps): void {
  const { artifacts } = deps
  app.addContentTypeParser<Buffer>(
    [...BUNDLE_TYPES],
    { parseAs: 'buffer', bodyLimit: artifactBytesMax },
    (_request, bundle, done) => done(null, bundle),
  )

  app.get<{ Querystring: ArtifactListQuery }>(
    '/artifacts',
    {
      config: { scope: 'read' },
      schema: {
        tags,
        security,
        summary: 'The artifacts, by id',
        querystring: ArtifactListQuery,
        response: { 200: ArtifactList, ...problemResponses },
      },
    },
    async ({ tenantId, query }): Promise<ArtifactList> => {
      const limit = limitOf(query)
      const after = readNameCursor('artifacts', query, idPattern)
      const page = await artifacts.list({ tenantId, after, limit })
      const nextCursor = cursorBehind('artifacts', page.more, page.artifacts.at(-1)?.artifactId)
      return {
        artifacts: page.artifacts.map(toArtifact),
        pagination: paginationOf({ limit, total: page.total, nextCursor }),
      }
    },
  )

  app.get<{ Params: ArtifactParams }>(
    '/artifacts/:artifact_id',
    {
      config: { scope: 'read' },
      schema: {
        tags,
        security,
        summary: 'One artifact',
        querystring: noParameters,
        response: { 200: Artifact, ...problemResponses },
      },
    },
    async ({ tenantId, params }): Promise<Artifact> => {
      const id = readArtifactId(params)
      const artifact = await artifacts.get(tenantId, id)
      if (artifact === null) throw artifactNotFound(id)
      return toArtifact(artifact)
    },
  )

  app.put<{ Params: ArtifactParams; Querystring: { sha256?: string }; Body: Buffer }>(
    '/artifacts/:artifact_id',
    {
      config: { scope: 'write' },
      onRequest: boundUploads(),
      schema: {
        tags,
        security,
        summary: 'Put a bundle there, or replace it',
        description:
          'A .tar.gz of at most 32 MiB. Attempts that start from now on run it; a job that names another checksum refuses it.',
        params: {
          type: 'object',
          properties: { artifact_id: { type: 'string', pattern: artifactIdPattern } },
        },
        querystring: writeQuery({
          sha256: {
            type: 'string',
            pattern: checksumPattern,
            description: 'What the bundle must be, in hex: another one is refused.',
          },
        }),
        body: {
          content: Object.fromEntries(
            BUNDLE_TYPES.map((type) => [type, { schema: { contentMediaType: 'application/gzip' } }]),
          ),
        },
        response: {
          200: { ...Artifact, description: 'It was there; this is what it is now.' },
          201: { ...Artifact, description: 'It was created.' },
          ...problemResponses,
        },
      },
    },
    async (request, reply) => {
      const { tenantId, caller, params, query } = request
      const content = requireBundle(request.body)
      const sha256 = hash('sha256', content)
      if (query.sha256 !== undefined && query.sha256.toLowerCase() !== sha256) {
        const detail = `is not the checksum of the bundle, which is ${sha256}`
        throw new ApiError('CHECKSUM_MISMATCH', `sha256 ${detail}.`, [{ pointer: 'sha256', detail }])
      }
      const order = { tenantId, artifactId: params.artifact_id, sha256, content, by: caller.name }
      return answerWrite<Artifact>(deps, request, reply, async (stores) => {
        const outcome = await stores.artifacts.put(order)
        if (outcome.kind === 'too_many') {
          throw new ApiError('TOO_MANY_ARTIFACTS', `The tenant has ${artifactsMax} artifacts.`)
        }
        const body = toArtifact(outcome.artifact)
        if (outcome.kind === 'replaced') return { status: 200, body }
        return { status: 201, headers: { location: `/api/v1/artifacts/${params.artifact_id}` }, body }
      })
    },
  )

  app.delete<{ Params: ArtifactParams }>(
    '/artifacts/:artifact_id',
    {
      config: { scope: 'write' },
      schema: {
        tags,
        security,
        summary: 'Delete an artifact',
        description: 'Attempts that have started go on; those of jobs that still name it fail.',
        querystring: writeQuery(),
        response: {
          200: emptyInDryRun,
          204: { type: 'null', description: 'It is gone.' },
          ...problemResponses,
        },
      },
    },
    async (request, reply) => {
      const id = readArtifactId(request.params)
      return answerWrite<null>(deps, request, reply, async (stores) => {
        if (!(await stores.artifacts.remove(request.tenantId, id))) throw artifactNotFound(id)
        return { status: 204, body: null }
      })
    },
  )
}

function boundUploads() {
  let uploads = 0
  return async (_request: FastifyRequest, reply: FastifyReply) => {
    if (uploads >= uploadsMax) {
      throw new ApiError('UNAVAILABLE', `This server receives ${uploadsMax} bundles at this moment.`)
    }
    uploads += 1
    // Also when the client goes away in the middle of it.
    reply.raw.once('close', () => {
      uploads -= 1
    })
  }
}

/** Whether a bundle is good is seen where it is unpacked; a body that is no bundle at all is refused here. */
function requireBundle(body: Buffer | undefined): Buffer {
  if (body === undefined || !gzipMagic.every((byte, i) => body[i] === byte)) {
    throw refuseField('', 'must be a .tar.gz')
  }
  return body
}

/** A text that cannot be an artifact id names nothing; it never reaches the store. */
function readArtifactId({ artifact_id: id }: ArtifactParams): string {
  if (!idPattern.test(id)) throw artifactNotFound(id)
  return id
}

function artifactNotFound(id: string): ApiError {
  return new ApiError('ARTIFACT_NOT_FOUND', `There is no artifact ${id.slice(0, 128)}.`)
}

function toArtifact(artifact: ArtifactView): Artifact {
  return {
    artifact_id: artifact.artifactId,
    sha256: artifact.sha256,
    bytes: artifact.bytes,
    created_at: toRfc3339(artifact.createdAt),
    created_by: artifact.createdBy,
  }
}
