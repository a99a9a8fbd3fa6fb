// Job.
import { Loading, Page } from '../../components/page.tsx'

export function JobScreen() {
  return (
    <Page title="Job">
      <Loading />
    </Page>
  )
}
