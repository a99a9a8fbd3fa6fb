// The target of the job, for each kind of executor, and its input.
import type { Field } from '@carillon/contract/executors/facts.ts'
import {
  EXECUTOR_FACTS,
  EXECUTORS,
  type Executor,
  type FieldName,
  fieldsOf,
} from '@carillon/contract/executors/list.ts'
import { Button } from '../../components/button.tsx'
import { Choice, SelectField, TextField } from '../../components/field.tsx'
import { readJson } from '../jobs/json-text.ts'
import { type FormPartProps, JobFields } from './form-fields.tsx'
import type { JobForm } from './job-form.ts'

type PartProps = FormPartProps<JobForm>

const pairsHint = 'One per line. Values are never shown again; *** keeps the stored one.'
const executors = EXECUTORS.map((value) => ({ value, name: EXECUTOR_FACTS[value].label }))

export function ExecutorFields({ form, onChange }: PartProps) {
  const rows: readonly (readonly FieldName[])[] = EXECUTOR_FACTS[form.executor].rows
  const fieldOf = (name: FieldName) => <OwnField key={name} name={name} form={form} onChange={onChange} />
  return (
    <>
      <Choice
        legend="Target"
        value={form.executor}
        options={executors}
        onChoose={(executor) => onChange({ executor: executor as Executor })}
      />
      {rows.map((row) =>
        row.length === 1 ? (
          row.map(fieldOf)
        ) : (
          <div key={row.join()} className="field-row">
            {row.map(fieldOf)}
          </div>
        ),
      )}
      <PayloadField form={form} onChange={onChange} />
      <JobFields
        form={form}
        onChange={onChange}
        isRow
        fields={[
          { name: 'timeout', label: 'Timeout per attempt (seconds)', placeholder: '300' },
          { name: 'totalTimeout', label: 'Total timeout (seconds)', placeholder: 'no limit' },
          { name: 'heartbeatTimeout', label: 'Heartbeat timeout (seconds)', placeholder: 'no limit' },
        ]}
      />
    </>
  )
}

/** A field that belongs to this kind of executor. */
function OwnField({ name, form, onChange }: PartProps & { name: FieldName }) {
  const field: Field = Object.fromEntries(fieldsOf(form.executor))[name]!
  const props = {
    ...(field.shape === 'pairs' && { isCode: true, hint: pairsHint }),
    ...(field.shape === 'list' && field.separator === '\n' && { isCode: true, hint: 'One per line.' }),
    ...inputOf(field),
    pointer: `/execution/${name}`,
    value: form.own[name],
    onText: (text: string) => onChange({ own: { ...form.own, [name]: text } }),
  }
  if (field.shape !== 'text' || field.choices === undefined) return <TextField {...props} />
  return <SelectField {...props} options={field.choices.map((value) => ({ value, name: value }))} />
}

function inputOf({ input }: Field): Field['input'] {
  return JSON.parse(JSON.stringify(input).replaceAll('{origin}', location.origin))
}

function PayloadField({ form, onChange }: PartProps) {
  const read = readJson(form.payload)
  const bytes = new TextEncoder().encode(form.payload).length
  const isJson = read.error === null && read.value !== undefined
  return (
    <>
      <JobFields
        form={form}
        onChange={onChange}
        fields={[
          {
            name: 'payload',
            label: 'Payload (JSON)',
            rows: 5,
            isCode: true,
            placeholder: '{ "report": "daily" }',
            hint: isJson ? `Valid JSON, ${bytes} B of at most 256 KB.` : 'Left empty, nothing is sent.',
          },
        ]}
      />
      {isJson && (
        <p>
          <Button kind="quiet" onClick={() => onChange({ payload: JSON.stringify(read.value, null, 2) })}>
            Tidy the JSON
          </Button>
        </p>
      )}
    </>
  )
}
