import { testCalendars } from '../../../test/conformance/jobs/calendars.ts'
import { testOnStores } from '../../../test/conformance/stores.ts'

testOnStores(testCalendars)
