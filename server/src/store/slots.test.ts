import { testRunOverlap } from '../../test/conformance/run-overlap.ts'
import { testRunStart } from '../../test/conformance/run-start.ts'
import { testSlots } from '../../test/conformance/slots.ts'
import { testAwaits } from '../../test/conformance/slots-await.ts'
import { testLateSlots } from '../../test/conformance/slots-late.ts'
import { testOverlap } from '../../test/conformance/slots-overlap.ts'
import { testSkips } from '../../test/conformance/slots-skips.ts'
import { testSlotsTaken } from '../../test/conformance/slots-taken.ts'
import { testOnStores } from '../../test/conformance/stores.ts'

testOnStores(testSlots)
testOnStores(testLateSlots)
testOnStores(testOverlap)
testOnStores(testSkips)
testOnStores(testAwaits)
testOnStores(testRunStart)
testOnStores(testRunOverlap)
testOnStores(testSlotsTaken)
