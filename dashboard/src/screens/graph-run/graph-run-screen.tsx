// Graph run.
import { Loading, Page } from '../../components/page.tsx'

export function GraphRunScreen() {
  return (
    <Page title="Graph run">
      <Loading />
    </Page>
  )
}
