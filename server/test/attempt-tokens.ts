// Tokens of attempts, as the targets of a running server are sent them.
import pg from 'pg'
import { attemptTokenOf } from '../src/domain/queue/attempt-token.ts'
import { HmacSha256 } from '../src/lib/hmac.ts'
import { addressOf, type DatabaseAddress } from '../src/postgres/connection/database.ts'

export async function connectTo(address: DatabaseAddress): Promise<pg.Client> {
  const client = new pg.Client(addressOf(address))
  await client.connect()
  return client
}

/** Of executions of a tenant; by default of the first attempt. Nothing was handed back: each claim is a new attempt. */
export async function tokensOf(
  client: pg.Client,
  tenantId: string,
): Promise<(executionId: string, attempt?: number) => string> {
  const { rows } = await client.query('SELECT token_key FROM installation')
  const key = new HmacSha256(rows[0].token_key)
  return (executionId, attempt = 1) => attemptTokenOf(key, { tenantId, executionId, attempt, fence: attempt })
}
