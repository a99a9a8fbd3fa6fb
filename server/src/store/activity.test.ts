import { testActivity } from '../../test/conformance/activity.ts'
import { testActivityTroubles } from '../../test/conformance/activity-troubles.ts'
import { testOnStores } from '../../test/conformance/stores.ts'

testOnStores(testActivity)
testOnStores(testActivityTroubles)
