// Jobs.
import { Loading, Page } from '../../components/page.tsx'

export function JobsScreen() {
  return (
    <Page title="Jobs">
      <Loading />
    </Page>
  )
}
