import { testActivity } from '../../../test/conformance/history/activity.ts'
import { testActivityTroubles } from '../../../test/conformance/history/activity-troubles.ts'
import { testOnStores } from '../../../test/conformance/stores.ts'

testOnStores(testActivity)
testOnStores(testActivityTroubles)
