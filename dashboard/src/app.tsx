// Either the screens or, without a session, the one that asks for a key.
import { useSession } from './api/session.ts'
import { ErrorBox, Loading } from './components/page.tsx'
import { LoginScreen } from './screens/login/login-screen.tsx'
import { Shell } from './shell/shell.tsx'

export function App() {
  const session = useSession()
  if (session.isPending) return <Loading label="Opening" />
  if (session.data === null) return <LoginScreen />
  if (session.data === undefined)
    return <ErrorBox error={session.error} onRetry={() => void session.refetch()} />
  return <Shell session={session.data} />
}
