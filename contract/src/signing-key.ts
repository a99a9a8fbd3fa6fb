// POST /signing-key/rotate. The key itself is in worker.ts.

import { optionalFlag, requestObject } from './shapes.ts'
import type * as Type from './type.ts'

export const RotateRequest = requestObject([{}], {
  force: optionalFlag({
    default: false,
    description:
      'Rotate even while the previous key is still in use. The previous key is removed, so receivers that know only that key can no longer verify callbacks.',
  }),
})
export type RotateRequest = Type.Static<typeof RotateRequest>
