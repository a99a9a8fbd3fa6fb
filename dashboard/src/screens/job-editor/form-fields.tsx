// The fields of the form of a job as lists: each shows and changes the text of its name.
import { type Option, SelectField, TextField, type TextFieldProps } from '../../components/field.tsx'
import { type JobForm, jobTexts } from './job-form.ts'
import type { ScheduleForm } from './schedule-form.ts'

export type ScheduleField = FormField<ScheduleForm>

type TextNames<Form> = { [Name in keyof Form]: Form[Name] extends string ? Name : never }[keyof Form]

interface FormField<Form> extends Omit<TextFieldProps, 'value' | 'onText' | 'pointer'> {
  name: TextNames<Form>
  /** One of these, instead of a text. */
  options?: readonly Option[]
}

export interface FormPartProps<Form> {
  form: Form
  onChange(change: Partial<Form>): void
}

interface FieldsProps<Form> extends FormPartProps<Form> {
  /** `false` is left out. */
  fields: readonly (FormField<Form> | false)[]
  /** Side by side, as far as there is room. */
  isRow?: boolean
}

export function JobFields(props: FieldsProps<JobForm>) {
  const about = (name: string) => {
    const { pointer, format } = jobTexts[name as keyof typeof jobTexts]
    return { pointer, kind: format === 'number' ? format : 'text' } as const
  }
  return <Fields {...props} about={about} />
}

/** Other fields have a pointer of the builder, such as `/schedule#times`. */
const schedulePointers: Partial<Record<keyof ScheduleForm, string>> = {
  timezone: '/schedule/timezone',
  startAt: '/schedule/start_at',
  endAt: '/schedule/end_at',
  dstGap: '/schedule/dst_gap',
  dstFold: '/schedule/dst_fold',
}

export function ScheduleFields(props: FieldsProps<ScheduleForm>) {
  return <Fields {...props} about={(name) => ({ pointer: schedulePointers[name] ?? `/schedule#${name}` })} />
}

interface AboutFields<Form> {
  about(name: TextNames<Form>): Pick<TextFieldProps, 'pointer' | 'kind'>
}

function Fields<Form>({ form, onChange, fields, isRow, about }: FieldsProps<Form> & AboutFields<Form>) {
  const shown = fields
    .filter((field) => field !== false)
    .map(({ name, options, ...field }) => {
      const bound = {
        ...about(name),
        ...field,
        value: form[name] as string,
        onText: (text: string) => onChange({ [name]: text } as Partial<Form>),
      }
      return options === undefined ? (
        <TextField key={String(name)} {...bound} />
      ) : (
        <SelectField key={String(name)} {...bound} options={options} />
      )
    })
  return isRow === true ? <div className="field-row">{shown}</div> : shown
}
