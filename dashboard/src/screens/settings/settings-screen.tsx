// Keys, tenants, tiers, usage, the signing key, the settings of this browser, and the facts that the server reports.
import { useSession } from '../../api/session.ts'
import { Page } from '../../components/page.tsx'
import { Tabs } from '../../components/tabs.tsx'
import { useFilters } from '../../lib/filters.ts'
import { ApiKeys } from './api-keys.tsx'
import { ServerFacts } from './server-facts.tsx'
import { SigningKeyCard } from './signing-key.tsx'
import { Tenants } from './tenants.tsx'
import { ThisBrowser } from './this-browser.tsx'
import { Tiers } from './tiers.tsx'
import { UsageCards } from './usage.tsx'
import './settings.css'

export function SettingsScreen() {
  const [filters, change] = useFilters()
  const session = useSession().data
  if (session === undefined || session === null) return null
  const isAdmin = session.scopes.includes('admin')
  const tabs = [
    isAdmin && { id: 'keys', name: 'API keys', panel: () => <ApiKeys session={session} /> },
    isAdmin && { id: 'signing', name: 'Signing key', panel: () => <SigningKeyCard /> },
    session.operator && { id: 'tenants', name: 'Tenants', panel: () => <Tenants /> },
    session.operator && { id: 'tiers', name: 'Tiers', panel: () => <Tiers /> },
    session.scopes.includes('read') && {
      id: 'usage',
      name: 'Usage',
      panel: () => <UsageCards session={session} />,
    },
    { id: 'browser', name: 'This session', panel: () => <ThisBrowser session={session} /> },
    { id: 'server', name: 'Server', panel: () => <ServerFacts /> },
  ].filter((tab) => tab !== false)
  return (
    <Page title="Settings">
      <Tabs
        label="Settings"
        tabs={tabs}
        selected={filters['tab']}
        onSelect={(tab) => change({ tab: tab === tabs[0]!.id ? undefined : tab })}
      />
    </Page>
  )
}
