// Settings.
import { Loading, Page } from '../../components/page.tsx'

export function SettingsScreen() {
  return (
    <Page title="Settings">
      <Loading />
    </Page>
  )
}
