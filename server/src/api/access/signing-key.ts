// /api/v1/signing-key: the key that signs the callbacks of a tenant, so that receivers can verify them.
import { RotateRequest } from '@carillon/contract/signing-key.ts'
import { SigningKey } from '@carillon/contract/worker.ts'
import type { FastifyInstance } from 'fastify'
import { type EpochMs, epochMs, toRfc3339 } from '../../lib/time/epoch.ts'
import { dayMs } from '../../lib/time/units.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Random } from '../../ports/random.ts'
import type { Secrets } from '../../ports/secrets.ts'
import type { Wakeup } from '../../ports/wakeup.ts'
import { ApiError } from '../http/api-error.ts'
import { takeNoBody } from '../http/json-body.ts'
import { route } from '../http/route.ts'

export interface SigningKeyDeps {
  clock: Clock
  random: Random
  secrets: Pick<Secrets, 'signingKeys' | 'rotateSigningKey'>
  wakeup: Wakeup
}

const tag = 'operations'
const keyBytes = 32
/** How long receivers have to learn the new key. */
const bothMs = dayMs

export function signingKeyRoutes(app: FastifyInstance, deps: SigningKeyDeps): void {
  const { clock, random, secrets, wakeup } = deps
  app.get(
    '/signing-key',
    route(tag, 'admin', 'The key that signs callbacks', { answer: SigningKey }),
    async ({ tenantId }): Promise<SigningKey> => readKey(secrets, tenantId, clock.databaseNow()),
  )

  app.post<{ Body: RotateRequest }>(
    '/signing-key/rotate',
    route(tag, 'admin', 'Sign callbacks with a new key', {
      description:
        'Within a minute, and usually at once, callbacks are signed with both keys, for a day. Until then the key cannot be changed again: otherwise a repeated request after a lost response would remove the key that receivers know.',
      body: RotateRequest,
      answer: SigningKey,
      options: { preValidation: takeNoBody },
    }),
    async ({ tenantId, body }): Promise<SigningKey> => {
      const now = clock.databaseNow()
      const { previous_until: until } = await readKey(secrets, tenantId, now)
      if (until !== null && body.force !== true) {
        throw new ApiError('SIGNING_KEY_NEW', `The previous key is used until ${until}.`)
      }
      const previousUntil = epochMs(now + bothMs)
      await secrets.rotateSigningKey({ tenantId, key: random.bytes(keyBytes), previousUntil })
      wakeup.send('keys')
      return readKey(secrets, tenantId, now)
    },
  )
}

async function readKey(
  secrets: Pick<Secrets, 'signingKeys'>,
  tenantId: string,
  now: EpochMs,
): Promise<SigningKey> {
  const [found] = await secrets.signingKeys([tenantId])
  const { keys, createdAt, previousUntil } = found!
  const isOver = previousUntil === null || previousUntil <= now
  return {
    key: `whsec_${Buffer.from(keys[0]!).toString('base64')}`,
    created_at: toRfc3339(createdAt),
    previous_until: isOver ? null : toRfc3339(previousUntil),
  }
}
