import { testSessions } from '../../../test/conformance/access/sessions.ts'
import { testOnStores } from '../../../test/conformance/stores.ts'

testOnStores(testSessions)
