// A session: how a browser calls the API without holding a key where scripts could read it.

import { SCOPES } from './api-key.ts'
import {
  describedObject,
  instant,
  oneOf,
  optionalText,
  strict,
  strictObject,
  textOrNull,
  uuid,
} from './shapes.ts'
import * as Type from './type.ts'

/** The cookie of a session: its name begins so, and goes on with the mark of the installation. */
export const SESSION_COOKIE = 'carillon_session'

/** A request with the cookie counts only with this header, which no page of another site can send. */
export const CLIENT_HEADER = { name: 'x-carillon-client', value: 'dashboard' } as const

export const SessionRequest = Type.Object(
  {
    key: optionalText({ minLength: 1, maxLength: 256, description: 'An API key.' }),
    code: optionalText({
      minLength: 1,
      maxLength: 256,
      description:
        'The text after `#code=` in the link that the server prints at start, or that `carillon login-link` makes. It opens one session.',
    }),
  },
  { ...strict, minProperties: 1, maxProperties: 1, examples: [{ key: 'crl_…' }] },
)
export type SessionRequest = Type.Static<typeof SessionRequest>

export const SessionCode = describedObject(
  'A code that opens one session, with the rights of the key that asked.',
  {
    code: Type.String({ description: 'Behind the address of the dashboard: `/#code=CODE`.' }),
    expires_at: instant('Until when it can be used, once.'),
    url: textOrNull('Address of the dashboard (`CARILLON_PUBLIC_URL`); null: the one that you called.'),
  },
)
export type SessionCode = Type.Static<typeof SessionCode>

export const Session = describedObject('The caller, its tenant and its rights.', {
  tenant: strictObject({ tenant_id: uuid, name: Type.String() }),
  operator: Type.Boolean({
    description: 'Whether the caller may act for any tenant, named in `X-Tenant-ID`.',
  }),
  scopes: Type.Array(oneOf(SCOPES), { description: 'The rights of the caller.' }),
  key_name: textOrNull('The name of the key; null: the operator key of the installation.'),
})
export type Session = Type.Static<typeof Session>
