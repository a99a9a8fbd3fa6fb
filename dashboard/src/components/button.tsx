// Buttons, and one that copies a text.
import { type ComponentProps, type ReactNode, useState } from 'react'
import { Icon, type IconName } from './icon.tsx'

interface ButtonProps extends ComponentProps<'button'> {
  icon?: IconName
  kind?: 'plain' | 'primary' | 'danger' | 'quiet'
  /** Work is under way: it cannot be pressed again, and says so. */
  busy?: boolean
}

export function Button(props: ButtonProps) {
  const { icon, kind = 'plain', busy = false, children, className = '', disabled, ...rest } = props
  return (
    <button
      type="button"
      className={`button button-${kind} ${className}`}
      disabled={busy || disabled}
      aria-busy={busy || undefined}
      {...rest}
    >
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </button>
  )
}

export function CopyButton({ text, children = 'Copy' }: { text: string; children?: ReactNode }) {
  const [copied, setCopied] = useState(false)
  return (
    <Button
      kind="quiet"
      icon={copied ? 'check' : 'copy'}
      onClick={() => {
        void copy(text).then(() => {
          setCopied(true)
          window.setTimeout(() => setCopied(false), 1_500)
        })
      }}
    >
      {copied ? 'Copied' : children}
    </Button>
  )
}

// A page that is not served over https and not from this machine has no clipboard of its own.
async function copy(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  ;(document.querySelector('dialog[open]') ?? document.body).append(area)
  area.select()
  document.execCommand('copy')
  area.remove()
}
