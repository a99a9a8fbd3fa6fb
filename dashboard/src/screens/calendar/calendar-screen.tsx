// Calendar.
import { Loading, Page } from '../../components/page.tsx'

export function CalendarScreen() {
  return (
    <Page title="Calendar">
      <Loading />
    </Page>
  )
}
