// Actions on one execution: run again, run again with another payload, cancel; and links to its neighbours.
import type { CancelReply, Execution, RetryReply } from '@carillon/contract/execution.ts'
import { useState } from 'react'
import { useMay } from '../../api/session.ts'
import { linkTo } from '../../api/tenant.ts'
import { Button, CopyButton } from '../../components/button.tsx'
import { ConfirmAction } from '../../components/confirm-action.tsx'
import { useOpenExecution } from '../../components/links.tsx'
import { toast, toastError } from '../../components/toast.tsx'
import { useKey } from '../../lib/keys.ts'
import { endedStatuses } from '../../live/told-execution.ts'
import { findNeighbour } from './neighbours.ts'
import { PayloadDialog } from './payload-dialog.tsx'

export function ExecutionActions({ execution }: { execution: Execution }) {
  const { execution_id: id, status } = execution
  const open = useOpenExecution()
  const may = useMay('operate')
  const [isEditing, setEditing] = useState(false)
  const isEnded = endedStatuses.includes(status)
  return (
    <>
      <Neighbours execution={execution} />
      <CopyButton text={linkTo(`/executions/${id}`)}>Copy link</CopyButton>
      {may && isEnded && status !== 'SKIPPED' && (
        <>
          <ConfirmAction<RetryReply>
            label="Retry"
            icon="retry"
            kind="primary"
            title="Retry this execution"
            verb="Retry"
            apiRequest={{
              method: 'POST',
              path: `/executions/${id}/retry`,
              body: {},
              cli: `executions retry ${id}`,
            }}
            done="A new execution was made."
            invalidates={['/executions']}
            onDone={open}
          >
            <p>A new execution with the same payload runs the present version of the job.</p>
          </ConfirmAction>
          <Button icon="edit" onClick={() => setEditing(true)}>
            Retry with edits
          </Button>
        </>
      )}
      {may && !isEnded && (
        <ConfirmAction<CancelReply>
          label="Cancel"
          icon="slash"
          kind="danger"
          title="Cancel this execution"
          verb="Cancel execution"
          danger
          unavailable={status === 'CANCELLING'}
          apiRequest={{
            method: 'POST',
            path: `/executions/${id}/cancel`,
            body: {},
            cli: `executions cancel ${id}`,
          }}
          done={(reply) => (reply.status === 'CANCELLED' ? 'It is cancelled.' : 'It is told to stop.')}
          invalidates={['/executions']}
        >
          <p>
            It starts no attempt any more. A call under way is aborted; what its target has begun it may go on
            with.
          </p>
        </ConfirmAction>
      )}
      {isEditing && (
        <PayloadDialog<RetryReply>
          title="Retry with another payload"
          verb="Retry"
          payload={execution.payload}
          hint="Valid JSON. It runs the present version of the job."
          apiRequestOf={(payload) => ({
            method: 'POST',
            path: `/executions/${id}/retry`,
            body: { payload_override: payload },
            cli: `executions retry ${id} --payload '${JSON.stringify(payload ?? null)}'`,
          })}
          done="A new execution was made."
          invalidates={['/executions']}
          onDone={open}
          onClose={() => setEditing(false)}
        />
      )}
    </>
  )
}

function Neighbours({ execution }: { execution: Execution }) {
  const open = useOpenExecution()
  const [isBusy, setBusy] = useState(false)
  const go = async (side: 'older' | 'newer') => {
    if (isBusy) return
    setBusy(true)
    try {
      const found = await findNeighbour(execution.job_id, execution, side)
      if (found !== null) open({ execution_id: found })
      else toast(side === 'older' ? 'There is none before it.' : 'There is none after it.')
    } catch (error) {
      toastError(error)
    } finally {
      setBusy(false)
    }
  }
  useKey('[', 'The execution before', () => void go('older'))
  useKey(']', 'The execution after', () => void go('newer'))
  return (
    <>
      <Button kind="quiet" icon="left" busy={isBusy} onClick={() => void go('older')}>
        Previous
      </Button>
      <Button kind="quiet" icon="right" busy={isBusy} onClick={() => void go('newer')}>
        Next
      </Button>
    </>
  )
}
