// POST /signing-key/rotate. The key itself is in worker.ts.
import Type from 'typebox'
import { optionalFlag } from './shapes.ts'

export const RotateRequest = Type.Object(
  {
    force: optionalFlag({
      default: false,
      description:
        'Rotate even while the previous key is still in use. The previous key is removed, so receivers that know only that key can no longer verify callbacks.',
    }),
  },
  { additionalProperties: false, examples: [{}] },
)
export type RotateRequest = Type.Static<typeof RotateRequest>
