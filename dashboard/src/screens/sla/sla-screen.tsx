// SLA.
import { Loading, Page } from '../../components/page.tsx'

export function SlaScreen() {
  return (
    <Page title="SLA">
      <Loading />
    </Page>
  )
}
