// Executions.
import { Loading, Page } from '../../components/page.tsx'

export function ExecutionsScreen() {
  return (
    <Page title="Executions">
      <Loading />
    </Page>
  )
}
