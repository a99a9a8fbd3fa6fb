// The key that callbacks are signed with, hidden until it is asked for; and its change.
import type { SigningKey } from '@carillon/contract/worker.ts'
import { useState } from 'react'
import { useGet } from '../../api/hooks.ts'
import { Button } from '../../components/button.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { ConfirmAction } from '../../components/confirm-action.tsx'
import { Check } from '../../components/field.tsx'
import { Card, Facts, Waiting } from '../../components/page.tsx'
import { Time } from '../../components/time.tsx'

export function SigningKeyCard() {
  const found = useGet<SigningKey>('/signing-key')
  const [isShown, setShown] = useState(false)
  const [isForced, setForced] = useState(false)
  if (found.data === undefined || found.error !== null) return <Waiting found={found} />
  const { key, created_at, previous_until } = found.data
  const isNew = previous_until !== null
  const body = isNew ? { force: true } : {}
  return (
    <Card title="Signing key">
      <p>
        Callbacks over HTTP are signed with it, as Standard Webhooks say, so that a receiver knows they come
        from here. In a receiver of yours: <code>verifySignature</code> of <code>@carillon/sdk</code>.
      </p>
      <Facts
        facts={{
          Made: <Time at={created_at} />,
          'Previous key valid until': <Time at={previous_until} missing="–" />,
        }}
      />
      {isShown && <CodeBlock code={key} label="Signing key" />}
      <div className="settings-head">
        <Button onClick={() => setShown(!isShown)}>{isShown ? 'Hide the key' : 'Show the key'}</Button>
        <ConfirmAction<SigningKey>
          label="Rotate"
          icon="retry"
          title="Sign callbacks with a new key"
          verb="Rotate key"
          danger={isNew}
          disabled={isNew && !isForced}
          apiRequest={{ method: 'POST', path: '/signing-key/rotate', body }}
          done="Callbacks are signed with the new key, and for a day with the old one too."
          onDone={() => setForced(false)}
          invalidates={['/signing-key']}
        >
          <p>
            For a day callbacks are signed with both, so that your receivers have time to learn the new one.
          </p>
          {isNew && (
            <Check isOn={isForced} onChange={setForced}>
              <span>
                The key before still counts until <Time at={previous_until} />. Take it away now: receivers
                that know only this one cannot verify any more.
              </span>
            </Check>
          )}
        </ConfirmAction>
      </div>
    </Card>
  )
}
