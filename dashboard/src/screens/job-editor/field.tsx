// A field of the form: its name, a hint, and its error, from the form or from the server.
import type { FieldError } from '@carillon/contract/problem.ts'
import { type ChangeEvent, createContext, type ReactNode, useContext, useId } from 'react'
import type { JobForm, TextName } from './job-form.ts'

/** All that is wrong at the moment; each field finds its own by its pointers. */
export const FieldErrors = createContext<readonly FieldError[]>([])

/** `/tags` finds `/tags/3` too. */
export function errorsAt(errors: readonly FieldError[], pointer: string): FieldError[] {
  return errors.filter((error) => error.pointer === pointer || error.pointer.startsWith(`${pointer}/`))
}

interface FieldProps {
  label: string
  pointer: string
  hint?: ReactNode
  className?: string
}

interface Given {
  id: string
  'aria-invalid': true | undefined
  'aria-describedby': string | undefined
}

export function Field(props: FieldProps & { children(given: Given): ReactNode }) {
  const { label, pointer, hint, className = '', children } = props
  const errors = errorsAt(useContext(FieldErrors), pointer)
  const id = useId()
  const isWrong = errors.length > 0
  return (
    <div className={`field ${className}`}>
      <label htmlFor={id}>{label}</label>
      {children({
        id,
        'aria-invalid': isWrong ? true : undefined,
        'aria-describedby': isWrong || hint !== undefined ? `${id}-said` : undefined,
      })}
      {(isWrong || hint !== undefined) && (
        <p id={`${id}-said`} className={isWrong ? 'field-error' : 'field-hint'}>
          {isWrong ? errors.map(({ detail }) => detail).join('; ') : hint}
        </p>
      )}
    </div>
  )
}

interface TextProps extends FieldProps {
  value: string
  onText(value: string): void
  placeholder?: string
  /** Lines: then it is a larger box. */
  rows?: number
  isCode?: boolean
  kind?: 'text' | 'number'
  list?: string
}

export function TextField(props: TextProps) {
  const { value, onText, placeholder, rows, isCode, kind = 'text', list, ...field } = props
  const onChange = (event: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) => onText(event.target.value)
  return (
    <Field {...field}>
      {(given) =>
        rows === undefined ? (
          <input
            {...given}
            type="text"
            inputMode={kind === 'number' ? 'numeric' : undefined}
            className={isCode ? 'input code' : 'input'}
            spellCheck={isCode ? false : undefined}
            autoComplete="off"
            list={list}
            placeholder={placeholder}
            value={value}
            onChange={onChange}
          />
        ) : (
          <textarea
            {...given}
            className={isCode ? 'input code' : 'input'}
            spellCheck={isCode ? false : undefined}
            rows={rows}
            style={{ minHeight: 0 }}
            placeholder={placeholder}
            value={value}
            onChange={onChange}
          />
        )
      }
    </Field>
  )
}

interface SelectProps extends FieldProps {
  value: string
  onText(value: string): void
  options: readonly { value: string; name: string }[]
}

export function SelectField({ value, onText, options, ...field }: SelectProps) {
  return (
    <Field {...field}>
      {(given) => (
        <select {...given} className="input" value={value} onChange={(event) => onText(event.target.value)}>
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.name}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

interface ChoiceProps {
  legend: string
  value: string
  options: readonly { value: string; name: string }[]
  onChoose(value: string): void
}

/** One of a few, all of them seen. */
export function Choice({ legend, value, options, onChoose }: ChoiceProps) {
  const name = useId()
  return (
    <fieldset className="choice">
      <legend className="unseen">{legend}</legend>
      {options.map((option) => (
        <label key={option.value} className="chip">
          <input
            type="radio"
            name={name}
            value={option.value}
            checked={option.value === value}
            onChange={() => onChoose(option.value)}
          />
          {option.name}
        </label>
      ))}
    </fieldset>
  )
}

/** A part of the form of a job. */
export interface PartProps {
  form: JobForm
  onChange(change: Partial<JobForm>): void
}

/** Ties an input to a text of the form. */
export function bindTo({ form, onChange }: PartProps) {
  return (name: TextName) => ({ value: form[name], onText: (text: string) => onChange({ [name]: text }) })
}
