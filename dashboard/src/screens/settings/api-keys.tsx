// API keys: the scopes of each, since when, until when, whether somebody uses it; made here, and shown once.
import type { ApiKey, CreatedApiKey } from '@carillon/contract/api-key.ts'
import { useMemo, useState } from 'react'
import { chosenTenant } from '../../api/client.ts'
import { useList } from '../../api/hooks.ts'
import type { Session } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { ConfirmAction } from '../../components/confirm-action.tsx'
import { type Column, DataTable, TwoLines, wideColumn } from '../../components/data-table.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Check } from '../../components/field.tsx'
import { Empty } from '../../components/page.tsx'
import { Status } from '../../components/status.tsx'
import { Time } from '../../components/time.tsx'
import { curlOf } from '../../lib/api-request.ts'
import { serverNow } from '../../lib/now.ts'
import { keyStateOf } from './key-form.ts'
import { NewKeyDialog } from './new-key-dialog.tsx'

export function ApiKeys({ session }: { session: Session }) {
  const [isOfOperators, setOfOperators] = useState(false)
  const [isAsking, setAsking] = useState(false)
  const [made, setMade] = useState<CreatedApiKey | null>(null)
  const query = useMemo(() => (isOfOperators ? { operator: true } : {}), [isOfOperators])
  const list = useList<ApiKey>('/api-keys', 'api_keys', { query })
  return (
    <>
      <div className="settings-head">
        <Button kind="primary" icon="plus" onClick={() => setAsking(true)}>
          New API key
        </Button>
        {session.operator && (
          <Check isOn={isOfOperators} onChange={setOfOperators}>
            Operator keys
          </Check>
        )}
        <span className="dim">
          {session.key_name === null
            ? 'You are logged in with the operator key.'
            : `You use ${session.key_name}.`}
        </span>
      </div>
      <DataTable
        label="API keys"
        rows={list.items}
        columns={columns}
        rowKey={({ key_id }) => key_id}
        list={list}
        empty={<NoKeys isOfOperators={isOfOperators} />}
      />
      {isAsking && (
        <NewKeyDialog
          isOperator={session.operator && isOfOperators}
          onClose={() => setAsking(false)}
          onMade={setMade}
        />
      )}
      {made !== null && <MadeKey made={made} onClose={() => setMade(null)} />}
    </>
  )
}

const columns: Column<ApiKey>[] = [
  { header: 'Name', width: 'minmax(7rem, 1.6fr)', cell: (key) => <NameCell apiKey={key} /> },
  { header: 'State', width: '6.5rem', cell: (key) => <KeyStatus apiKey={key} /> },
  wideColumn('Prefix', '9rem', ({ prefix }) => <code>{prefix}</code>),
  wideColumn('Scopes', 'minmax(8rem, 1.4fr)', ({ scopes }) => scopes.join(', ')),
  wideColumn('Last used', '7rem', ({ last_used_at }) => <Time at={last_used_at} missing="never" />),
  wideColumn('Expires', '7.5rem', ({ expires_at }) => <Time at={expires_at} missing="never" />),
  wideColumn('Created', '7rem', ({ created_at }) => <Time at={created_at} />),
  { header: '', name: 'Revoke', width: '5.5rem', cell: (key) => <Revoke apiKey={key} /> },
]

function NameCell({ apiKey: { name, created_by, scopes } }: { apiKey: ApiKey }) {
  return (
    <TwoLines title={`Created by ${created_by}`} below={<span className="dim">{scopes.join(', ')}</span>}>
      <span>{name}</span>
    </TwoLines>
  )
}

function KeyStatus({ apiKey }: { apiKey: ApiKey }) {
  const state = keyStateOf(apiKey, serverNow())
  return (
    <Status status={{ active: 'ACTIVE', expired: 'TIMED_OUT', revoked: 'CANCELLED' }[state]} label={state} />
  )
}

function Revoke({ apiKey: { key_id, name, revoked_at } }: { apiKey: ApiKey }) {
  if (revoked_at !== null) return null
  return (
    <ConfirmAction
      label="Revoke"
      name={`Revoke ${name}`}
      kind="quiet"
      title={`Revoke the key ${name}`}
      verb="Revoke key"
      danger
      apiRequest={{ method: 'DELETE', path: `/api-keys/${key_id}` }}
      done="The key is revoked."
      invalidates={['/api-keys']}
    >
      <p>
        It is for good, and ends the sessions that were opened with it. Other servers hear of it within 5 s.
      </p>
    </ConfirmAction>
  )
}

function MadeKey({ made, onClose }: { made: CreatedApiKey; onClose(): void }) {
  return (
    <Dialog
      title={`The key ${made.name}`}
      onClose={onClose}
      actions={
        <Button kind="primary" onClick={onClose}>
          I have copied it
        </Button>
      }
    >
      <p>
        This is the only time it is shown: the server keeps its fingerprint only. Every holder of it may{' '}
        {made.scopes.join(', ')}.
      </p>
      <CodeBlock code={made.key ?? ''} label="The new key" />
    </Dialog>
  )
}

const example = { name: 'deploy', scopes: ['read', 'write'] }

function NoKeys({ isOfOperators }: { isOfOperators: boolean }) {
  return (
    <Empty
      title={isOfOperators ? 'No operator keys besides the first.' : 'No API keys yet.'}
      code={curlOf({ method: 'POST', path: '/api-keys', body: example }, location.origin, chosenTenant.get())}
    >
      Give each program its own key, with only the scopes it needs:
    </Empty>
  )
}
