// The fields of forms and dialogs: a label, the control, and below it a hint or its error, from the page or the server.
import type { FieldError } from '@carillon/contract/problem.ts'
import { type ComponentProps, createContext, type ReactNode, useContext, useId } from 'react'

/** All that is wrong at the moment; each field finds its own by its pointers. */
export const FieldErrors = createContext<readonly FieldError[]>([])

/** `/tags` finds `/tags/3` too. Null: nothing is wrong there. */
export function errorAt(errors: readonly FieldError[], pointer: string): string | null {
  const found = errors.filter((error) => error.pointer === pointer || error.pointer.startsWith(`${pointer}/`))
  return found.length === 0 ? null : found.map(({ detail }) => detail).join('; ')
}

interface FieldProps {
  label: ReactNode
  /** Of the value in the request: an error of the server with this pointer is shown here. */
  pointer?: string | undefined
  hint?: ReactNode
  /** Takes the place of the hint. */
  error?: string | null | undefined
  /** The hint follows the typed value and is read out. */
  isSpoken?: boolean | undefined
}

interface Given {
  id: string
  'aria-invalid': true | undefined
  'aria-describedby': string | undefined
}

function Field(props: FieldProps & { children(given: Given): ReactNode }) {
  const { label, pointer, hint, isSpoken, children } = props
  const errors = useContext(FieldErrors)
  const error = props.error ?? (pointer === undefined ? null : errorAt(errors, pointer))
  const id = useId()
  const said = inWords(label, error) || hint
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({
        id,
        'aria-invalid': error === null ? undefined : true,
        'aria-describedby': said === undefined ? undefined : `${id}-said`,
      })}
      {said !== undefined && (
        <p
          id={`${id}-said`}
          className={error === null ? 'field-hint' : 'field-error'}
          role={isSpoken === true ? 'status' : undefined}
        >
          {said}
        </p>
      )}
    </div>
  )
}

/** A refusal of the server begins with a verb: its subject is the field. */
function inWords(label: ReactNode, error: string | null): ReactNode {
  const isBare = error !== null && /^(is|must|has|cannot|needs) /.test(error)
  return isBare ? (
    <>
      {label} {error}
    </>
  ) : (
    error
  )
}

export interface TextFieldProps extends FieldProps, Pick<ComponentProps<'input'>, PassedOn> {
  value: string
  onText(value: string): void
  /** Lines of a larger box; `tall`: the box of a whole document. */
  rows?: number | 'tall'
  isCode?: boolean
  kind?: 'text' | 'number'
}

type PassedOn = 'type' | 'placeholder' | 'maxLength' | 'step' | 'min' | 'max' | 'list' | 'className'

export function TextField(props: TextFieldProps) {
  const { label, pointer, hint, error, isSpoken, onText, rows, isCode, kind, className, ...passed } = props
  return (
    <Field {...{ label, pointer, hint, error, isSpoken }}>
      {(given) => {
        const shared = {
          ...given,
          ...passed,
          className: ['input', isCode === true && 'code', className].filter(Boolean).join(' '),
          spellCheck: isCode === true ? false : undefined,
          onChange: ({ target }: { target: { value: string } }) => onText(target.value),
        }
        if (rows === undefined) {
          const inputMode = kind === 'number' ? 'numeric' : undefined
          return <input type="text" inputMode={inputMode} autoComplete="off" {...shared} />
        }
        return rows === 'tall' ? (
          <textarea {...shared} />
        ) : (
          <textarea {...shared} rows={rows} style={{ minHeight: 0 }} />
        )
      }}
    </Field>
  )
}

export interface Option {
  value: string | number
  name: string
}

interface SelectProps extends Omit<ComponentProps<'select'>, 'onChange'> {
  options: readonly Option[]
  onText(value: string): void
}

export function Select({ options, onText, className = 'input', ...select }: SelectProps) {
  return (
    <select className={className} onChange={({ target }) => onText(target.value)} {...select}>
      {options.map(({ value, name }) => (
        <option key={value} value={value}>
          {name}
        </option>
      ))}
    </select>
  )
}

export interface SelectFieldProps extends FieldProps {
  value: string
  options: readonly Option[]
  onText(value: string): void
}

export function SelectField({ value, onText, options, ...field }: SelectFieldProps) {
  return (
    <Field {...field}>
      {(given) => <Select {...given} value={value} options={options} onText={onText} />}
    </Field>
  )
}

interface CheckProps {
  isOn: boolean
  onChange(isOn: boolean): void
  children: ReactNode
  className?: string
}

/** Yes or no. */
export function Check({ isOn, onChange, children, className = 'check' }: CheckProps) {
  return (
    <label className={className}>
      <input type="checkbox" checked={isOn} onChange={({ target }) => onChange(target.checked)} /> {children}
    </label>
  )
}

interface ChoiceProps {
  legend: string
  value: string
  options: readonly Option[]
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
            onChange={() => onChoose(String(option.value))}
          />
          {option.name}
        </label>
      ))}
    </fieldset>
  )
}
