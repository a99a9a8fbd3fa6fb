// One dead letter: the errors of all its attempts, its payload, and the actions on it.
import type { DeadLetter, RedriveReply } from '@carillon/contract/dead-letter.ts'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import { useMay } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { JsonBlock } from '../../components/code-block.tsx'
import { ConfirmAction } from '../../components/confirm-action.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { ExecutionLink, GraphRunLink, JobLink } from '../../components/links.tsx'
import { Facts, PlainTable, Waiting } from '../../components/page.tsx'
import { Time } from '../../components/time.tsx'
import { formatCount, shortId, words } from '../../lib/format.ts'
import { PayloadDialog } from '../execution/payload-dialog.tsx'
import { reasonTexts } from './letter-filters.ts'
import { redriveText } from './selection-bar.tsx'

const letterKey = 'dead letter '

export function LetterDialog({ executionId, onClose }: { executionId: string; onClose(): void }) {
  // A key of its own: the lists are read again when the letter is gone, and the letter is not.
  const found = useQuery({
    queryKey: [`${letterKey}${executionId}`],
    queryFn: ({ signal }) =>
      api.get<DeadLetter>(`/dead-letters/${encodeURIComponent(executionId)}`, { signal }),
  })
  const may = useMay('operate')
  const letter = found.data
  return (
    <Dialog
      wide
      title={letter === undefined ? 'Dead letter' : `Dead letter of ${letter.job_name}`}
      onClose={onClose}
      actions={may && letter !== undefined && <LetterActions letter={letter} onGone={onClose} />}
    >
      <Waiting found={found} />
      {letter !== undefined && <Letter letter={letter} />}
    </Dialog>
  )
}

function Letter({ letter }: { letter: DeadLetter }) {
  const { execution_id: executionId, graph_run_id: graphRunId } = letter
  return (
    <>
      <Facts
        facts={{
          Job: <JobLink id={letter.job_id}>{letter.job_name}</JobLink>,
          Execution: <ExecutionLink id={executionId}>{shortId(executionId)}</ExecutionLink>,
          'Failed for good': <Time at={letter.dlq_timestamp} />,
          Because: reasonTexts[letter.dlq_reason] ?? words(letter.dlq_reason),
          Attempts: formatCount(letter.total_attempts),
          'Redriven by itself': <Time at={letter.auto_redrive_at} missing="no, a person decides" />,
        }}
      />
      {graphRunId !== null && (
        <p>
          It belonged to a <GraphRunLink id={graphRunId}>graph run</GraphRunLink>. A redrive runs it alone:
          resume the run instead, and the letter is gone with that.
        </p>
      )}
      <h3>Errors of all attempts</h3>
      <div className="letter-errors">
        <PlainTable heads={['Attempt', 'Ended', 'Error']}>
          {letter.error_history.map(({ attempt_number, at, type, message, http_status }) => (
            <tr key={attempt_number}>
              <td>{attempt_number}</td>
              <td>
                <Time at={at} />
              </td>
              <td>
                <strong>{type ?? 'none'}</strong>
                {http_status !== null && ` ${http_status}`} {message}
              </td>
            </tr>
          ))}
        </PlainTable>
      </div>
      <h3>
        Payload
        {letter.edited_at !== null && (
          <span className="dim">
            , edited <Time at={letter.edited_at} />
          </span>
        )}
      </h3>
      {letter.payload === undefined ? (
        <p className="dim">None: it was called without a body.</p>
      ) : (
        <JsonBlock value={letter.payload} label="Payload" />
      )}
    </>
  )
}

function LetterActions({ letter, onGone }: { letter: DeadLetter; onGone(): void }) {
  const [isEditing, setEditing] = useState(false)
  const { execution_id: id } = letter
  const body = { execution_ids: [id] }
  return (
    <>
      <ConfirmAction
        label="Discard"
        icon="trash"
        kind="danger"
        title="Discard this dead letter"
        verb="Discard"
        danger
        apiRequest={{ method: 'DELETE', path: `/dead-letters/${id}` }}
        done="The dead letter was discarded."
        onDone={onGone}
        invalidates={['/dead-letters']}
      >
        <p>It cannot be redriven afterwards; the execution stays in the history.</p>
      </ConfirmAction>
      <Button icon="edit" onClick={() => setEditing(true)}>
        Edit payload
      </Button>
      <ConfirmAction<RedriveReply>
        label="Redrive"
        icon="retry"
        kind="primary"
        title="Redrive this dead letter"
        verb="Redrive"
        apiRequest={{
          method: 'POST',
          path: '/dead-letters/redrive',
          body,
          cli: `dead-letters redrive ${id}`,
        }}
        done={redriveText}
        onDone={onGone}
        invalidates={['/dead-letters', '/executions']}
      >
        <p>
          It becomes a new execution with the same idempotency key
          {letter.edited_at !== null && ' and the payload that was edited'}, and the letter is gone.
        </p>
      </ConfirmAction>
      {isEditing && (
        <PayloadDialog<DeadLetter>
          title="Edit the payload"
          verb="Save"
          payload={letter.payload}
          hint="Valid JSON. The letter is called with it when it is redriven."
          apiRequestOf={(payload) => ({ method: 'PATCH', path: `/dead-letters/${id}`, body: { payload } })}
          done="The payload is changed. It counts when the letter is redriven."
          invalidates={['/dead-letters', letterKey]}
          onClose={() => setEditing(false)}
        />
      )}
    </>
  )
}
