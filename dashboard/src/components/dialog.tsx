// A native modal dialog: the browser keeps the focus in it, gives it back afterwards and closes it on Escape.
import { type ReactNode, useEffect, useId, useRef } from 'react'
import { Button } from './button.tsx'

interface DialogProps {
  title: string
  onClose(): void
  children: ReactNode
  /** Buttons at its foot; without them there is only the one that closes it. */
  actions?: ReactNode
  wide?: boolean
}

/** Shown as long as it is rendered. */
export function Dialog({ title, onClose, children, actions, wide = false }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null)
  const titleId = useId()
  useEffect(() => {
    const dialog = element.current
    if (dialog === null) return
    if (!dialog.open) dialog.showModal()
    dialog.querySelector<HTMLElement>('input, textarea, select')?.focus()
    return () => dialog.close()
  }, [])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it too; the click is the one beside it
    <dialog
      ref={element}
      className={wide ? 'dialog dialog-wide' : 'dialog'}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onClick={(event) => event.target === element.current && onClose()}
    >
      <div className="dialog-body">
        <header className="dialog-head">
          <h2 id={titleId}>{title}</h2>
          <Button kind="quiet" icon="cross" aria-label="Close" onClick={onClose} />
        </header>
        {children}
        {actions !== undefined && <footer className="dialog-actions">{actions}</footer>}
      </div>
    </dialog>
  )
}
