// Dead letters.
import { Loading, Page } from '../../components/page.tsx'

export function DeadLettersScreen() {
  return (
    <Page title="Dead letters">
      <Loading />
    </Page>
  )
}
