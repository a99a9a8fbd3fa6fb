// Buttons of which one is pressed: chips of a filter, the parts of a switch.
import type { ReactNode } from 'react'

interface OneOfProps<Value extends string> {
  look: 'chips' | 'switch'
  legend: string
  /** `label` names a button that shows only a sign. */
  options: readonly { value: Value; name: ReactNode; label?: string }[]
  value: Value | undefined
  onPress(value: Value): void
}

export function OneOf<Value extends string>({ look, legend, options, value, onPress }: OneOfProps<Value>) {
  return (
    <fieldset className={look}>
      <legend className="unseen">{legend}</legend>
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          className={look === 'chips' ? 'chip' : undefined}
          aria-pressed={option.value === value}
          aria-label={option.label}
          title={option.label}
          onClick={() => onPress(option.value)}
        >
          {option.name}
        </button>
      ))}
    </fieldset>
  )
}
