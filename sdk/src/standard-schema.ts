// The part of Standard Schema (https://standardschema.dev, version 1) that we use: zod, valibot, arktype and others have it.

export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>
    /** Only for types; there is nothing at run time. */
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
  }
}

export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }

export interface SchemaIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

type TypesOf<Schema extends StandardSchema> = NonNullable<Schema['~standard']['types']>
/** The input of the schema. */
export type InputOf<Schema extends StandardSchema> = TypesOf<Schema>['input']
/** The output of the schema, after defaults and conversions. */
export type OutputOf<Schema extends StandardSchema> = TypesOf<Schema>['output']

/** `team.name: Required` */
export function describeIssue({ message, path = [] }: SchemaIssue): string {
  const keys = path.map((part) => String(typeof part === 'object' ? part.key : part))
  return keys.length === 0 ? message : `${keys.join('.')}: ${message}`
}
