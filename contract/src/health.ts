// Liveness and readiness.

import { expected } from './expected.ts'
import { oneOf, textOrNull } from './shapes.ts'
import * as Type from './type.ts'

export const Live = Type.Object({ status: Type.Literal('alive') }, { additionalProperties: false })

export const Ready = Type.Object(
  {
    status: oneOf(['ready', 'not_ready']),
    version: Type.String(),
    roles: Type.Array(Type.String()),
    checks: Type.Record(Type.String(), Type.String(), { description: 'Each dependency: `ok`, or why not.' }),
  },
  { additionalProperties: false },
)
export type Ready = Type.Static<typeof Ready>

export const ProofQuery = Type.Object({
  nonce: Type.String({
    pattern: '^[0-9a-f]{64}$',
    ...expected(
      '64 lowercase hexadecimal digits, such as e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    ),
    description: '64 random hexadecimal digits, new for each request.',
  }),
})
export type ProofQuery = Type.Static<typeof ProofQuery>

export const Proof = Type.Object(
  {
    proof: textOrNull(
      'HMAC-SHA256 of the nonce and the server end of the connection with the key in the data directory; null: the key was given by CARILLON_API_KEY.',
    ),
  },
  { additionalProperties: false },
)
export type Proof = Type.Static<typeof Proof>
