// Execution.
import { Loading, Page } from '../../components/page.tsx'

export function ExecutionScreen() {
  return (
    <Page title="Execution">
      <Loading />
    </Page>
  )
}
