// API keys. The key itself is in one answer only: that to the call that made it.
import Type from 'typebox'
import { Pagination, pageParameters } from './pagination.ts'
import {
  describedObject,
  idOrNull,
  instant,
  instantOrNull,
  oneOf,
  optionalFlag,
  optionalText,
  strict,
  strictObject,
  uuid,
} from './shapes.ts'

export const SCOPES = ['read', 'write', 'operate', 'admin'] as const

const name = Type.String({ minLength: 1, maxLength: 128, description: 'What it is for; need not be unique.' })
const scope = oneOf(SCOPES)
const expiresText = 'When it stops working: an instant in the future, such as 2030-01-31T09:00:00Z.'

export const ApiKeyRequest = Type.Object(
  {
    name,
    scopes: Type.Array(scope, {
      minItems: 1,
      uniqueItems: true,
      description:
        'read: every GET. write: create, change, delete definitions. operate: trigger, pause, resume, retry, cancel, redrive, bulk. admin: the API keys of the tenant, and the three others.',
    }),
    expires_at: Type.Optional(instant(`${expiresText} Absent: never.`)),
    operator: optionalFlag({
      default: false,
      description: 'A key for every tenant and for operating the installation. Only operators can make one.',
    }),
  },
  { ...strict, examples: [{ name: 'deploy', scopes: ['write'], expires_at: '2030-01-31T09:00:00Z' }] },
)
export type ApiKeyRequest = Type.Static<typeof ApiKeyRequest>

export const ApiKeyChange = Type.Object(
  { name: Type.Optional(name), expires_at: Type.Optional(instantOrNull(`${expiresText} Null: never.`)) },
  {
    ...strict,
    minProperties: 1,
    description: 'What is absent stays.',
    examples: [{ expires_at: '2030-01-31T09:00:00Z' }],
  },
)
export type ApiKeyChange = Type.Static<typeof ApiKeyChange>

const shown = {
  key_id: uuid,
  tenant_id: idOrNull("Whose it is; null: an operator's."),
  name: Type.String(),
  prefix: Type.String({ description: 'The first characters of the key, to know it by.' }),
  scopes: Type.Array(scope),
  created_at: instant('When it was made.'),
  created_by: Type.String({ description: 'The name of the key that made it.' }),
  expires_at: instantOrNull('When it stops working; null: never.'),
  revoked_at: instantOrNull('When it was revoked; null: it was not.'),
  last_used_at: instantOrNull('To the minute; null: never.'),
}

export const ApiKey = describedObject('The key, without the key itself.', shown)
export type ApiKey = Type.Static<typeof ApiKey>

export const CreatedApiKey = describedObject('The key that was made.', {
  ...shown,
  key: optionalText({
    description:
      'The key itself. It is shown here and never again: it is absent from a dry run and from the repeated answer to an `Idempotency-Key`.',
  }),
})
export type CreatedApiKey = Type.Static<typeof CreatedApiKey>

export const ApiKeyListQuery = strictObject({
  operator: optionalFlag({ description: 'The keys of the operators instead of those of the tenant.' }),
  ...pageParameters,
})
export type ApiKeyListQuery = Type.Static<typeof ApiKeyListQuery>

export const ApiKeyList = describedObject('A page of the list.', {
  api_keys: Type.Array(ApiKey),
  pagination: Pagination,
})
export type ApiKeyList = Type.Static<typeof ApiKeyList>
