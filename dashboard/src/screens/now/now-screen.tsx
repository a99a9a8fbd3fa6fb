// Now.
import { Loading, Page } from '../../components/page.tsx'

export function NowScreen() {
  return (
    <Page title="Now">
      <Loading />
    </Page>
  )
}
