// Workers.
import { Loading, Page } from '../../components/page.tsx'

export function WorkersScreen() {
  return (
    <Page title="Workers">
      <Loading />
    </Page>
  )
}
