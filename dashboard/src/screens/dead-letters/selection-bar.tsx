// Actions on the selected dead letters.
import type { RedriveReply } from '@carillon/contract/dead-letter.ts'
import { ApiProblem, api } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmAction } from '../../components/confirm-action.tsx'
import { plural } from '../../lib/format.ts'

/** As many as one redrive by ids takes. */
export const selectionMax = 200
const discardsAtOnce = 4

export function SelectionBar({ chosen, onClear }: { chosen: ReadonlySet<string>; onClear(): void }) {
  if (chosen.size === 0) return null
  const ids = [...chosen]
  const letters = plural(ids.length, 'dead letter')
  const body = { execution_ids: ids }
  return (
    <section className="operation" aria-label="Selection">
      <strong>{letters} selected</strong>
      <ConfirmAction<RedriveReply>
        label="Redrive selected"
        icon="retry"
        title={`Redrive ${letters}`}
        verb="Redrive"
        apiRequest={{
          method: 'POST',
          path: '/dead-letters/redrive',
          body,
          ...(ids.length === 1 && { cli: `dead-letters redrive ${ids[0]}` }),
        }}
        done={redriveText}
        onDone={onClear}
        invalidates={['/dead-letters', '/executions']}
      >
        <p>Each becomes a new execution with the same idempotency key, and its letter is gone.</p>
      </ConfirmAction>
      <ConfirmAction
        label="Discard selected"
        icon="trash"
        kind="danger"
        title={`Discard ${letters}`}
        verb="Discard"
        danger
        apiRequest={{ method: 'DELETE', path: `/dead-letters/${ids[0]}` }}
        run={() => discardAll(ids)}
        done={(gone) => `${plural(gone, 'dead letter')} discarded.`}
        onDone={onClear}
        invalidates={['/dead-letters']}
      >
        <p>
          They cannot be redriven afterwards; the executions stay in the history.
          {ids.length > 1 && ' A program sends one such request for each letter.'}
        </p>
      </ConfirmAction>
      <Button kind="quiet" icon="cross" onClick={onClear}>
        Select none
      </Button>
    </section>
  )
}

export function redriveText({ redriven, not_found, job_deleted }: RedriveReply): string {
  const parts = [`${plural(redriven.length, 'dead letter')} redriven`]
  if (not_found.length > 0) parts.push(`${not_found.length} gone already`)
  if (job_deleted.length > 0) parts.push(`${job_deleted.length} left, because the job is deleted`)
  return `${parts.join(', ')}.`
}

/** How many were there to be discarded. */
async function discardAll(ids: readonly string[]): Promise<number> {
  const left = [...ids]
  let gone = 0
  const work = async () => {
    for (let id = left.pop(); id !== undefined; id = left.pop()) {
      try {
        await api.delete(`/dead-letters/${id}`)
        gone += 1
      } catch (error) {
        // Somebody else was quicker.
        if (!(error instanceof ApiProblem && error.status === 404)) throw error
      }
    }
  }
  await Promise.all(Array.from({ length: discardsAtOnce }, work))
  return gone
}
