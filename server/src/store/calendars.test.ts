import { testCalendars } from '../../test/conformance/calendars.ts'
import { testOnStores } from '../../test/conformance/stores.ts'

testOnStores(testCalendars)
