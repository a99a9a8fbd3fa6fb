// The target of a job, by the kinds of executors/list.ts. One flat object for all of them, so that an error names the
// field and a serialiser need not try alternatives; the server decides which fields go together.

import { executionDefaults } from './constants.ts'
import type { Field } from './executors/facts.ts'
import {
  EXECUTOR_FACTS,
  EXECUTORS,
  type FieldName,
  type FieldValues,
  fieldsOf,
  type TargetName,
} from './executors/list.ts'
import { anyJson, describedObject, oneOf, optionalInteger, texts } from './shapes.ts'
import * as Type from './type.ts'

const pairsMax = 50

type Fields = { [Name in FieldName]: Type.TOptional<Type.TUnsafe<FieldValues[Name]>> }

const requested = (field: Field, description: string): object => {
  if (field.shape === 'list')
    return { type: 'array', items: { type: 'string', ...field.items }, ...field.keywords, description }
  if (field.shape === 'pairs')
    return texts({ maxProperties: pairsMax, maxLength: field.bytesMax, description })
  const { choices, keywords, default: usual } = field
  return choices === undefined
    ? { type: 'string', ...keywords, description }
    : { enum: [...choices], type: 'string', default: usual, description }
}

const shown = (field: Field): object => {
  if (field.shape === 'list') return { type: 'array', items: { type: 'string' } }
  if (field.shape === 'pairs')
    return texts({ maxProperties: pairsMax, maxLength: 3, description: 'The values are not shown.' })
  const { choices } = field
  return { ...(choices && { enum: [...choices] }), type: 'string', ...field.shown }
}

const fieldsOfAll = (schemaOf: (field: Field, description: string) => object): Fields =>
  Object.fromEntries(
    EXECUTORS.flatMap((type) =>
      fieldsOf(type).map(([name, field]) => {
        const description = field.about === undefined ? `${type}.` : `${type}: ${field.about}`
        return [name, Type.Optional(Type.Unsafe(schemaOf(field, description)))]
      }),
    ),
  ) as Fields

/** The called thing of every kind that is not in each reply. */
export const targetFields = Object.fromEntries(
  Object.values(EXECUTOR_FACTS).flatMap(({ target, targetAbout }) =>
    targetAbout === null ? [] : [[target, Type.Optional(Type.String({ description: targetAbout }))]],
  ),
) as Record<Exclude<TargetName, 'callback_url'>, Type.TOptional<Type.TString>>

const namesOf = (type: (typeof EXECUTORS)[number]) => fieldsOf(type).map(([name]) => name)

export const ExecutionRequest = describedObject('The target of the job.', {
  type: Type.Optional(
    Type.Enum([...EXECUTORS], {
      type: 'string',
      default: executionDefaults.type,
      description: `How it is called. ${EXECUTORS.map((type) => `${type}: ${namesOf(type).join(', ')}.`).join(' ')}`,
    }),
  ),
  ...fieldsOfAll(requested),
  payload: Type.Optional(
    anyJson(
      'The input: over HTTP the JSON body, for a handler its argument, for a command its standard input. Absent: none. At most 256 KB; not with GET.',
    ),
  ),
  timeout_seconds: optionalInteger({
    minimum: 1,
    maximum: 604_800,
    default: executionDefaults.timeout_seconds,
    description: 'The longest an attempt may take.',
  }),
  total_timeout_seconds: optionalInteger({
    minimum: 1,
    maximum: 2_592_000,
    description:
      'The longest all attempts together may take, from the start of the first. Left out: no limit.',
  }),
  heartbeat_timeout_seconds: optionalInteger({
    minimum: 5,
    maximum: 86_400,
    description: 'An attempt of which nothing is heard for longer is over. Left out: it may be silent.',
  }),
})
export type ExecutionRequest = Type.Static<typeof ExecutionRequest>

/** The same as a job shows it. */
export const JobExecution = describedObject('The target of the job, with the fields of its type.', {
  type: oneOf(EXECUTORS),
  ...fieldsOfAll(shown),
  payload: Type.Optional(anyJson('As given; absent: none, or a list that was not asked for payloads.')),
  timeout_seconds: Type.Integer(),
  total_timeout_seconds: optionalInteger(),
  heartbeat_timeout_seconds: optionalInteger(),
})
export type JobExecution = Type.Static<typeof JobExecution>
