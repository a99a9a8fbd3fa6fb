import { testActivity } from '../../test/conformance/activity.ts'
import { testOnStores } from '../../test/conformance/stores.ts'

testOnStores(testActivity)
