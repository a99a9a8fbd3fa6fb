// Job.
import { Loading, Page } from '../../components/page.tsx'

export function JobEditorScreen() {
  return (
    <Page title="Job">
      <Loading />
    </Page>
  )
}
