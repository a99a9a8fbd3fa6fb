// A button that asks before its action. The question shows the request that will be sent, as curl and as a command, so
// that a program can do tomorrow the same thing that a person does here once.
import { type ReactNode, useState } from 'react'
import { chosenTenant, send } from '../api/client.ts'
import { useInvalidate } from '../api/hooks.ts'
import { type ApiRequest, curlOf } from '../lib/api-request.ts'
import { useStore } from '../lib/store.ts'
import { Button } from './button.tsx'
import { CodeBlock } from './code-block.tsx'
import { Dialog } from './dialog.tsx'
import type { IconName } from './icon.tsx'
import { ErrorBox } from './page.tsx'
import { Tabs } from './tabs.tsx'
import { toast } from './toast.tsx'

export interface ActionProps<Reply> {
  /** The title of the question and the word on its button: "Cancel this execution", "Cancel execution". */
  title: string
  verb: string
  /** The request that is shown and, unless `run` does something else, sent. */
  apiRequest: ApiRequest
  run?(): Promise<Reply>
  /** Said afterwards. */
  done: string | ((reply: Reply) => string)
  onDone?(reply: Reply): void
  /** Paths that are asked for again afterwards. */
  invalidates?: readonly string[]
  danger?: boolean
  /** Nothing can be sent yet, because a field is wrong. */
  disabled?: boolean
  /** The effect of the action, and fields if it has any. */
  children?: ReactNode
}

interface ConfirmActionProps<Reply> extends ActionProps<Reply> {
  /** On the button that opens the question. */
  label: ReactNode
  name?: string
  icon?: IconName
  kind?: 'plain' | 'primary' | 'danger' | 'quiet'
  unavailable?: boolean
}

export function ConfirmAction<Reply>(props: ConfirmActionProps<Reply>) {
  const { label, icon, kind, name, unavailable, ...action } = props
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button
        {...(icon !== undefined && { icon })}
        {...(kind !== undefined && { kind })}
        aria-label={name}
        disabled={unavailable === true}
        onClick={() => setOpen(true)}
      >
        {label}
      </Button>
      {isOpen && <ConfirmDialog {...action} onClose={() => setOpen(false)} />}
    </>
  )
}

/** The question alone, for callers that open it themselves. */
export function ConfirmDialog<Reply>(props: ActionProps<Reply> & { onClose(): void }) {
  const {
    title,
    verb,
    apiRequest,
    done,
    onDone,
    invalidates = [],
    danger,
    disabled,
    children,
    onClose,
  } = props
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const invalidate = useInvalidate()
  const confirm = async () => {
    setBusy(true)
    setError(null)
    try {
      const reply = await (props.run?.() ?? send<Reply>(apiRequest))
      toast(typeof done === 'string' ? done : done(reply))
      void invalidate(...invalidates)
      onClose()
      onDone?.(reply)
    } catch (caught) {
      setError(caught)
      setBusy(false)
    }
  }
  const actions = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button
        kind={danger === true ? 'danger' : 'primary'}
        busy={isBusy}
        disabled={disabled}
        onClick={confirm}
      >
        {verb}
      </Button>
    </>
  )
  return (
    <Dialog title={title} onClose={onClose} actions={actions}>
      {children}
      {error !== null && <ErrorBox error={error} />}
      <RequestExamples apiRequest={apiRequest} />
    </Dialog>
  )
}

/** The same action for programs. */
export function RequestExamples({
  apiRequest,
  isOpen = false,
}: {
  apiRequest: ApiRequest
  isOpen?: boolean
}) {
  const tenantId = useStore(chosenTenant)
  const curl = curlOf(apiRequest, location.origin, tenantId)
  const forTenant = tenantId === null ? '' : ` --tenant ${tenantId}`
  const tabs = [
    { id: 'curl', name: 'curl', panel: () => <CodeBlock code={curl} label="As a curl command" /> },
    apiRequest.cli !== undefined && {
      id: 'cli',
      name: 'carillon',
      panel: () => (
        <CodeBlock code={`carillon ${apiRequest.cli}${forTenant}`} label="As a carillon command" />
      ),
    },
  ]
  return (
    <details className="request-examples" open={isOpen}>
      <summary>API & CLI equivalent</summary>
      <Tabs label="API & CLI equivalent" tabs={tabs} />
    </details>
  )
}
