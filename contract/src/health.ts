// Liveness and readiness.
import Type from 'typebox'

export const Live = Type.Object({ status: Type.Literal('alive') }, { additionalProperties: false })

export const Ready = Type.Object(
  {
    status: Type.Enum(['ready', 'not_ready'], { type: 'string' }),
    version: Type.String(),
    roles: Type.Array(Type.String()),
    checks: Type.Record(Type.String(), Type.String(), { description: 'Each dependency: `ok`, or why not.' }),
  },
  { additionalProperties: false },
)
export type Ready = Type.Static<typeof Ready>
