// RFC 9457 problem document: the body of every answer that is not a success.

import { ERRORS } from './errors.ts'
import { oneOf, optionalInteger, optionalText } from './shapes.ts'
import * as Type from './type.ts'

export const FieldError = Type.Object({
  pointer: Type.String({ description: 'JSON Pointer to the field; query and path parameters by name.' }),
  detail: Type.String(),
  code: optionalText({ description: 'The kind of error, for programs; docs/errors.md has the list.' }),
  field: optionalText({ description: 'The field of a schedule, or of its cron text, that is wrong.' }),
  position: optionalInteger({ description: 'Offset of the first wrong character in the text.' }),
  allowed: optionalText({ description: 'The values allowed there.' }),
  suggestions: Type.Optional(Type.Array(Type.String(), { description: 'Similar valid texts.' })),
})

/** Its name in /openapi.json. */
export const problemId = 'Problem'

export const Problem = Type.Object(
  {
    type: Type.String({ description: 'urn:carillon:error:CODE' }),
    title: Type.String(),
    status: Type.Integer(),
    code: oneOf(Object.keys(ERRORS) as (keyof typeof ERRORS)[], 'Stable; for programs.'),
    detail: Type.String({ description: 'The error in this request, for people.' }),
    help: Type.String({ description: 'Advice on how to correct it.' }),
    errors: Type.Optional(
      Type.Array(FieldError, { maxItems: 20, description: 'The first 20 errors, one for each field.' }),
    ),
    errors_omitted: optionalInteger({
      description: 'Number of further errors, if there are more than 20; counting stops at 1,000 errors.',
    }),
    execution_status: optionalText({ description: 'Status of the execution that the request is about.' }),
  },
  { $id: problemId, description: 'RFC 9457 problem document.' },
)
export type Problem = Type.Static<typeof Problem>
export type FieldError = Type.Static<typeof FieldError>
