// Logging in with an API key. The key is sent once and kept nowhere in the browser: the session is a cookie.
import { type FormEvent, useState } from 'react'
import { logIn } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { Icon } from '../../components/icon.tsx'
import { ErrorBox } from '../../components/page.tsx'

export function LoginScreen() {
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
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
      <p className="dim">
        Started it yourself? <code>npm start</code> prints a link that logs you in, and where the key is kept:
      </p>
      <CodeBlock code="npm start" label="Starts Carillon and prints the link" />
    </main>
  )
}
