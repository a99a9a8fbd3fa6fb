import { testSessions } from '../../test/conformance/sessions.ts'
import { testOnStores } from '../../test/conformance/stores.ts'

testOnStores(testSessions)
