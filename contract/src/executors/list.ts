// Every kind of executor, once. The schemas, the CLI and the dashboard are made from this list, and the lists of the
// server must name the same kinds: domain/executors/list.ts and worker/executors/list.ts.
import { artifact } from './artifact.ts'
import type { Field, ValueOf } from './facts.ts'
import { http } from './http.ts'
import { shell } from './shell.ts'
import { worker } from './worker.ts'

export const EXECUTOR_FACTS = { http, worker, shell, artifact }

export type Executor = keyof typeof EXECUTOR_FACTS
export const EXECUTORS = Object.keys(EXECUTOR_FACTS) as Executor[]

type Facts = (typeof EXECUTOR_FACTS)[Executor]
type Intersected<Union> = (Union extends unknown ? (one: Union) => void : never) extends (
  all: infer All,
) => void
  ? All
  : never

/** The facts of every field, by its name; a name belongs to one kind. */
export type FieldsOfAll = Intersected<Facts['fields']>
export type FieldName = keyof FieldsOfAll
/** The values of the fields of every kind. */
export type FieldValues = { [Name in FieldName]: ValueOf<FieldsOfAll[Name]> }
/** The fields that name the called thing. */
export type TargetName = Facts['target']

/** The fields that belong to this kind alone, in order. Unknown kind (of a newer server): none. */
export function fieldsOf(type: Executor): [FieldName, Field][] {
  return Object.entries(EXECUTOR_FACTS[type]?.fields ?? {}) as [FieldName, Field][]
}

/** The fields of this kind with values that are never read back. */
export function pairsOf(type: Executor) {
  return fieldsOf(type).flatMap(([name, field]) => (field.shape === 'pairs' ? [{ name, ...field }] : [])) as {
    name: PairsName
    ignoresCase?: true
  }[]
}

export type PairsName = {
  [Name in FieldName]: FieldsOfAll[Name] extends { shape: 'pairs' } ? Name : never
}[FieldName]

/** The called address, handler, command or artifact, in the reply of an execution. */
export function targetOf(
  execution: { executor: Executor } & { [Name in TargetName]?: string | null },
): string | null {
  return execution[EXECUTOR_FACTS[execution.executor]?.target] ?? null
}
