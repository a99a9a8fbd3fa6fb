// /api/v1/artifacts: bundles of code that jobs run. In a scope of its own, as its bodies are no JSON.
import { hash } from 'node:crypto'
import { Artifact, ArtifactList, ArtifactListQuery, BUNDLE_TYPES } from '@carillon/contract/artifact.ts'
import { artifactIdForm } from '@carillon/contract/executors/artifact.ts'
import { checksumForm } from '@carillon/contract/expected.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { TenantShares } from '../../domain/tenants/tenant-shares.ts'
import { toRfc3339 } from '../../lib/time/epoch.ts'
import { type ArtifactView, artifactBytesMax, artifactsMax } from '../../ports/artifacts.ts'
import type { StorePorts } from '../../ports/store.ts'
import type { TenantQuotas } from '../access/tenant-quotas.ts'
import { ApiError } from '../http/api-error.ts'
import { behindLast, limitOf, paginationOf, readNameCursor } from '../http/cursor.ts'
import { named } from '../http/path-id.ts'
import { refuseField } from '../http/problem.ts'
import { route } from '../http/route.ts'
import { takePlace } from '../http/take-place.ts'
import { answerWrite, type WriteDeps, writeRoute } from '../http/write.ts'

export interface ArtifactDeps extends WriteDeps, Pick<StorePorts, 'artifacts' | 'workers'> {
  quotas: TenantQuotas
  /** Whether this server runs artifacts: its worker is registered a moment after the API answers. */
  runsArtifacts: boolean
  /** Whether a second tenant exists. */
  isShared: () => boolean
}

const tag = 'artifacts'
const idPattern = new RegExp(artifactIdForm.pattern)
const anArtifact = named('ARTIFACT_NOT_FOUND', 'artifact', idPattern)
type ArtifactParams = { artifact_id: string }

/** Bundles that are being received at once: each is held in memory. */
const uploadsMax = 8
const gzipMagic = [0x1f, 0x8b]

export function artifactRoutes(app: FastifyInstance, deps: ArtifactDeps): void {
  const { artifacts, quotas } = deps
  app.addContentTypeParser<Buffer>(
    [...BUNDLE_TYPES],
    { parseAs: 'buffer', bodyLimit: artifactBytesMax },
    (_request, bundle, done) => done(null, bundle),
  )

  app.get<{ Querystring: ArtifactListQuery }>(
    '/artifacts',
    route(tag, 'read', 'The artifacts, by id', { querystring: ArtifactListQuery, answer: ArtifactList }),
    async ({ tenantId, query }): Promise<ArtifactList> => {
      const after = readNameCursor('artifacts', query, idPattern)
      const page = await artifacts.list({ tenantId, after, limit: limitOf(query) })
      const next = behindLast(page, page.artifacts, (one) => one.artifactId)
      return {
        artifacts: page.artifacts.map(toArtifact),
        pagination: paginationOf('artifacts', query, { total: page.total, next }),
      }
    },
  )

  app.get<{ Params: ArtifactParams }>(
    '/artifacts/:artifact_id',
    route(tag, 'read', 'One artifact', { answer: Artifact }),
    async ({ tenantId, params }): Promise<Artifact> => {
      const id = anArtifact.read(params.artifact_id)
      return toArtifact(anArtifact.found(await artifacts.get(tenantId, id), id))
    },
  )

  app.put<{ Params: ArtifactParams; Querystring: { sha256?: string }; Body: Buffer }>(
    '/artifacts/:artifact_id',
    writeRoute(tag, 'write', 'Upload or replace a bundle', {
      bodies: 'apart',
      description:
        'A .tar.gz of at most 32 MiB. New attempts run it; attempts of a job that names another checksum fail. Refused while no server runs artifacts; one that has stopped counts for ten minutes, one that died for an hour.',
      params: {
        type: 'object',
        properties: { artifact_id: { type: 'string', ...artifactIdForm } },
      },
      query: {
        sha256: {
          type: 'string',
          ...checksumForm,
          description: 'The SHA-256 of the bundle in hex: a bundle with another checksum is refused.',
        },
      },
      body: {
        content: Object.fromEntries(
          BUNDLE_TYPES.map((type) => [type, { schema: { contentMediaType: 'application/gzip' } }]),
        ),
      },
      response: {
        200: { ...Artifact, description: 'It existed already; this is its new content.' },
        201: { ...Artifact, description: 'Created.' },
      },
      options: { onRequest: [requireRunner(deps), boundUploads(deps.isShared)] },
    }),
    async (request, reply) => {
      const { tenantId, caller, params, query } = request
      const content = requireBundle(request.body)
      const sha256 = hash('sha256', content)
      if (query.sha256 !== undefined && query.sha256.toLowerCase() !== sha256) {
        const detail = `is not the checksum of the bundle, which is ${sha256}`
        throw refuseField('sha256', detail, 'CHECKSUM_MISMATCH')
      }
      const order = { tenantId, artifactId: params.artifact_id, sha256, content, by: caller.name }
      return answerWrite<Artifact>(deps, request, reply, async (stores) => {
        if (caller.tier.storageBytesMax !== null) {
          const former = await stores.artifacts.get(tenantId, order.artifactId)
          quotas.spendStorage(caller, Math.max(0, content.length - (former?.bytes ?? 0)))
        }
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
    writeRoute(tag, 'write', 'Delete an artifact', {
      description: 'Running attempts continue; new attempts of jobs that still name it fail.',
      gone: 'It is gone.',
    }),
    async (request, reply) => {
      const id = anArtifact.read(request.params.artifact_id)
      return answerWrite<null>(deps, request, reply, async (stores) => {
        if (!(await stores.artifacts.remove(request.tenantId, id))) throw anArtifact.notFound(id)
        return { status: 204, body: null }
      })
    },
  )
}

/**
 * A bundle that nothing runs only takes room. Asked before the bundle arrives. A worker that is gone counts while it is
 * shown, so that an upload is not refused during a restart.
 */
function requireRunner({ runsArtifacts, workers }: Pick<ArtifactDeps, 'runsArtifacts' | 'workers'>) {
  return async () => {
    if (runsArtifacts) return
    const wanted = { executor: 'artifact', tenantId: null, handler: null, labels: [] } as const
    if (await workers.hasRunner(wanted, { orShown: true })) return
    throw new ApiError(
      'ARTIFACTS_OFF',
      'No server of this installation runs artifacts, so the bundle is not kept.',
    )
  }
}

function boundUploads(isShared: () => boolean) {
  const shares = new TenantShares({ placesMax: uploadsMax, isShared })
  return async ({ caller }: FastifyRequest, reply: FastifyReply) => {
    const { leave } = takePlace(shares, caller, 'bundles arriving')
    // Also when the client goes away in the middle of it.
    reply.raw.once('close', leave)
    if (reply.raw.closed) leave()
  }
}

/** Whether a bundle is good is seen where it is unpacked; a body that is no bundle at all is refused here. */
function requireBundle(body: Buffer | undefined): Buffer {
  if (body === undefined || !gzipMagic.every((byte, i) => body[i] === byte)) {
    throw refuseField('', 'must be a .tar.gz')
  }
  return body
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
