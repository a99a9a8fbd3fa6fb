// A payload that a person edits, with its error as JSON, or a hint on its effect.
import { useId } from 'react'

interface PayloadFieldProps {
  text: string
  error: string | null
  /** Said while it is valid. */
  hint: string
  onChange(text: string): void
}

export function PayloadField({ text, error, hint, onChange }: PayloadFieldProps) {
  const fieldId = useId()
  return (
    <div className="field">
      <label htmlFor={fieldId}>Payload</label>
      <textarea
        id={fieldId}
        className="input code"
        rows={14}
        spellCheck={false}
        value={text}
        aria-invalid={error !== null}
        aria-describedby={`${fieldId}-hint`}
        onChange={(event) => onChange(event.target.value)}
      />
      <p id={`${fieldId}-hint`} className={error === null ? 'field-hint' : 'field-error'} role="status">
        {error ?? hint}
      </p>
    </div>
  )
}
