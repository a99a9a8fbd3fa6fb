// GET /proof: the command line asks it before it sends the key that it found in a local data directory. Only a key of our
// own making is proven: it has 256 random bits, so the answer helps no guess.
import { Proof, ProofQuery } from '@carillon/contract/health.ts'
import type { FastifyInstance } from 'fastify'
import { proveServer } from '../../lib/server-proof.ts'
import { problemResponses } from './route.ts'

export function proofRoutes(app: FastifyInstance, { provableKey }: { provableKey: string | null }): void {
  app.get<{ Querystring: ProofQuery }>(
    '/proof',
    {
      schema: {
        tags: ['health'],
        summary: 'Shows the command line that this server knows the key of its data directory',
        querystring: ProofQuery,
        response: { 200: Proof, ...problemResponses },
      },
    },
    async (request, reply): Promise<Proof> => {
      const { localAddress: address = '', localPort: port = 0 } = request.raw.socket
      reply.header('cache-control', 'no-store')
      return {
        proof: provableKey === null ? null : proveServer(provableKey, request.query.nonce, { address, port }),
      }
    },
  )
}
