// /echo: the built-in target to try jobs on.

import { optionalInteger } from './shapes.ts'
import * as Type from './type.ts'

export const EchoQuery = Type.Object({
  status: optionalInteger({ minimum: 200, maximum: 599, description: 'Respond with this status.' }),
  delay_ms: optionalInteger({ minimum: 0, maximum: 30_000, description: 'Respond after this time.' }),
})
export type EchoQuery = Type.Static<typeof EchoQuery>

export const Echo = Type.Object(
  {
    method: Type.String(),
    path: Type.String(),
    headers: Type.Record(Type.String(), Type.String()),
    body: Type.String(),
  },
  { description: 'The request as it arrived; values of credentials are `***`.' },
)
