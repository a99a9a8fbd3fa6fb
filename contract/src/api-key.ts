// API keys. Only the response to the call that created it contains the key itself.
import { expected } from './expected.ts'
import { pageOf, pageParameters } from './pagination.ts'
import {
  describedObject,
  idOrNull,
  instant,
  instantOrNull,
  oneOf,
  optionalFlag,
  optionalText,
  requestObject,
  strict,
  strictObject,
  uuid,
} from './shapes.ts'
import * as Type from './type.ts'

export const SCOPES = ['read', 'write', 'operate', 'admin'] as const

const name = Type.String({
  minLength: 1,
  maxLength: 128,
  description: 'The purpose of the key; need not be unique.',
})
const scope = oneOf(SCOPES)
const expiresText = 'Expiry of the key: an instant in the future, such as 2030-01-31T09:00:00Z.'
const expiryExpected = expected('an instant in the future, such as 2030-01-31T09:00:00Z')

export const ApiKeyRequest = requestObject(
  [{ name: 'deploy', scopes: ['write'], expires_at: '2030-01-31T09:00:00Z' }],
  {
    name,
    scopes: Type.Array(scope, {
      minItems: 1,
      uniqueItems: true,
      description:
        'read: every GET. write: create, change, delete definitions. operate: trigger, pause, resume, retry, cancel, redrive, bulk. admin: the API keys of the tenant, and the other three scopes.',
    }),
    expires_at: Type.Optional(
      Type.String({ ...instant(`${expiresText} Absent: never.`), ...expiryExpected }),
    ),
    operator: optionalFlag({
      default: false,
      description:
        'A key for every tenant and for operating the installation. Only operators can create one.',
    }),
  },
)
export type ApiKeyRequest = Type.Static<typeof ApiKeyRequest>

export const ApiKeyChange = Type.Object(
  {
    name: Type.Optional(name),
    expires_at: Type.Optional(
      Type.Unsafe<string | null>({ ...instantOrNull(`${expiresText} Null: never.`), ...expiryExpected }),
    ),
  },
  {
    ...strict,
    minProperties: 1,
    description: 'Fields that are left out stay unchanged.',
    examples: [{ expires_at: '2030-01-31T09:00:00Z' }],
  },
)
export type ApiKeyChange = Type.Static<typeof ApiKeyChange>

const shown = {
  key_id: uuid,
  tenant_id: idOrNull('The tenant of the key; null: an operator key.'),
  name: Type.String(),
  prefix: Type.String({ description: 'The first characters of the key, to recognise it.' }),
  scopes: Type.Array(scope),
  created_at: instant('Time of creation.'),
  created_by: Type.String({ description: 'The name of the key that created it.' }),
  expires_at: instantOrNull('Expiry; null: never.'),
  revoked_at: instantOrNull('Time of revocation; null: not revoked.'),
  last_used_at: instantOrNull('Last use, to the minute; null: never used.'),
}

export const ApiKey = describedObject('The key, without its secret.', shown)
export type ApiKey = Type.Static<typeof ApiKey>

export const CreatedApiKey = describedObject('The new key.', {
  ...shown,
  key: optionalText({
    description:
      'The key itself. It is shown only once: it is absent from a dry run and from the repeated response to an `Idempotency-Key`.',
  }),
})
export type CreatedApiKey = Type.Static<typeof CreatedApiKey>

export const ApiKeyListQuery = strictObject({
  operator: optionalFlag({ description: 'List the keys of operators instead of the keys of the tenant.' }),
  ...pageParameters,
})
export type ApiKeyListQuery = Type.Static<typeof ApiKeyListQuery>

export const ApiKeyList = pageOf('A page of the list.', { api_keys: Type.Array(ApiKey) })
export type ApiKeyList = Type.Static<typeof ApiKeyList>
