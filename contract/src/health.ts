// Liveness and readiness.

import { oneOf } from './shapes.ts'
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
