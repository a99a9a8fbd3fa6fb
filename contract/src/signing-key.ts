// POST /signing-key/rotate. The key itself is in worker.ts.
import Type from 'typebox'
import { optionalFlag } from './shapes.ts'

export const RotateRequest = Type.Object(
  {
    force: optionalFlag({
      default: false,
      description:
        'Also while the key before is still used: that one is gone then, and whoever knows only it cannot verify any more.',
    }),
  },
  { additionalProperties: false, examples: [{}] },
)
export type RotateRequest = Type.Static<typeof RotateRequest>
