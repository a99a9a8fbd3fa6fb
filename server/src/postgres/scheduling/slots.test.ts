import { testRunOverlap } from '../../../test/conformance/graphs/run-overlap.ts'
import { testRunStart } from '../../../test/conformance/graphs/run-start.ts'
import { testSlots } from '../../../test/conformance/scheduling/slots.ts'
import { testAwaits } from '../../../test/conformance/scheduling/slots-await.ts'
import { testSlotsClaimed } from '../../../test/conformance/scheduling/slots-claimed.ts'
import { testJoiningSlots } from '../../../test/conformance/scheduling/slots-joining.ts'
import { testLateSlots } from '../../../test/conformance/scheduling/slots-late.ts'
import { testOverlap } from '../../../test/conformance/scheduling/slots-overlap.ts'
import { testSkips } from '../../../test/conformance/scheduling/slots-skips.ts'
import { testOnStores } from '../../../test/conformance/stores.ts'

testOnStores(testSlots)
testOnStores(testLateSlots)
testOnStores(testJoiningSlots)
testOnStores(testOverlap)
testOnStores(testSkips)
testOnStores(testAwaits)
testOnStores(testRunStart)
testOnStores(testRunOverlap)
testOnStores(testSlotsClaimed)
