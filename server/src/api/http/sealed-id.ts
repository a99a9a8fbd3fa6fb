// Encrypts the id in the cursor of a list that looks at the rows of all tenants: such a page may end at an execution of
// another tenant, which nobody else should learn. One AES block for the 16 bytes of an id, with a key of the
// installation, so that every server of it can read the cursor. A cursor that was tampered with is just another place.
import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto'
import type { Secrets } from '../../ports/secrets.ts'

export interface SealedIds {
  seal(id: string): string
  open(sealed: string): string
}

const cipher = 'aes-256-ecb'

/** Resolves with the same once the store has answered. */
export function sealIdsWith(secrets: Pick<Secrets, 'tokenKey'>): () => Promise<SealedIds> {
  let ids: SealedIds | null = null
  return async () => {
    ids ??= sealedIdsOf(
      createHmac('sha256', await secrets.tokenKey())
        .update('cursors')
        .digest(),
    )
    return ids
  }
}

function sealedIdsOf(key: Buffer): SealedIds {
  return {
    seal: (id) => toId(createCipheriv(cipher, key, null).setAutoPadding(false).update(toBytes(id))),
    open: (sealed) => toId(createDecipheriv(cipher, key, null).setAutoPadding(false).update(toBytes(sealed))),
  }
}

function toBytes(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex')
}

function toId(bytes: Buffer): string {
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
