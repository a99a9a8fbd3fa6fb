// Logging in with an API key. The key is sent once and kept nowhere in the browser: the session is a cookie.
import { type FormEvent, useState } from 'react'
import { logIn, loginReason } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { Icon } from '../../components/icon.tsx'
import { ErrorBox } from '../../components/page.tsx'
import { useStore } from '../../lib/store.ts'

const reasonTexts = {
  link: 'This link has been used or has expired: a link works once, for 15 minutes. Log in with a key, or get another link.',
  ended: 'Your session has ended. Log in again.',
}

export function LoginScreen() {
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const reason = useStore(loginReason)
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const key = String(new FormData(event.currentTarget).get('key')).trim()
    if (key === '') return
    setBusy(true)
    setError(null)
    try {
      await logIn({ key })
    } catch (caught) {
      setError(caught)
      setBusy(false)
    }
  }
  return (
    <main className="login" id="main">
      <h1>
        <Icon name="bell" /> Carillon
      </h1>
      {reason !== null && (
        <p className="login-reason" role="status">
          {reasonTexts[reason]}
        </p>
      )}
      <form onSubmit={submit}>
        <label htmlFor="key">API key</label>
        <input
          id="key"
          name="key"
          type="password"
          className="input"
          autoComplete="current-password"
          required
          maxLength={512}
        />
        <Button kind="primary" type="submit" busy={isBusy}>
          Log in
        </Button>
        {error !== null && <ErrorBox error={error} />}
      </form>
      <p className="dim">Or use a login link. On the machine that runs Carillon, this command prints one:</p>
      <CodeBlock code="carillon login-link" label="Prints a login link" />
    </main>
  )
}
