// The session logged in here, and how this browser shows times and colours.
import { Link } from '@tanstack/react-router'
import { logOut, type Session } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { Card, Facts } from '../../components/page.tsx'
import { toastError } from '../../components/toast.tsx'
import { ThemeSwitch, TimeSwitch } from '../../shell/switches.tsx'

export function ThisBrowser({ session }: { session: Session }) {
  return (
    <div className="grid-2">
      <Card title="Session">
        <Facts
          facts={{
            Tenant: session.tenant.name,
            Key: session.key_name ?? 'the operator key',
            May: session.scopes.join(', '),
            Operator: session.operator ? 'yes, for every tenant' : 'no',
          }}
        />
        <p className="dim">
          The browser keeps no key, only a cookie that no script can read. It ends after 7 days, or with its
          key.
        </p>
        <div>
          <Button onClick={() => void logOut().catch(toastError)}>Log out of this session</Button>
        </div>
      </Card>
      <Card title="Appearance">
        <div className="settings-head">
          <span>Times</span> <TimeSwitch />
        </div>
        <div className="settings-head">
          <span>Theme</span> <ThemeSwitch />
        </div>
        <p className="dim">
          Kept in this browser. Days on which jobs do not run are on the <Link to="/calendar">calendar</Link>.
        </p>
      </Card>
    </div>
  )
}
