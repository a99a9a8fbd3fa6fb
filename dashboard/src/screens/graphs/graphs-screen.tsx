// Graphs.
import { Loading, Page } from '../../components/page.tsx'

export function GraphsScreen() {
  return (
    <Page title="Graphs">
      <Loading />
    </Page>
  )
}
