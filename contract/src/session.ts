// A session: how a browser calls the API without holding a key where scripts could read it.
import Type from 'typebox'
import { SCOPES } from './api-key.ts'
import { textOrNull } from './shapes.ts'

const strict = { additionalProperties: false } as const

/** The cookie of a session. */
export const SESSION_COOKIE = 'carillon_session'

/** A request with the cookie counts only with this header, which no page of another site can send. */
export const CLIENT_HEADER = { name: 'x-carillon-client', value: 'dashboard' } as const

export const SessionRequest = Type.Object(
  {
    key: Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: 'An API key.' })),
    code: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 256,
        description: 'What stands behind `#code=` in the link that a start prints. It opens one session.',
      }),
    ),
  },
  { ...strict, minProperties: 1, maxProperties: 1, examples: [{ key: 'crl_…' }] },
)
export type SessionRequest = Type.Static<typeof SessionRequest>

export const Session = Type.Object(
  {
    tenant: Type.Object({ tenant_id: Type.String({ format: 'uuid' }), name: Type.String() }, strict),
    operator: Type.Boolean({
      description: 'Whether it may act for any tenant: `X-Tenant-ID` says for which.',
    }),
    scopes: Type.Array(Type.Enum([...SCOPES], { type: 'string' }), { description: 'What it may do.' }),
    key_name: textOrNull('Of the key; null: the operator key of the installation.'),
  },
  { ...strict, description: 'Who calls, for which tenant, and what it may do.' },
)
export type Session = Type.Static<typeof Session>
