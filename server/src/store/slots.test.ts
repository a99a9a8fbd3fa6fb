import { testSlots } from '../../test/conformance/slots.ts'
import { testLateSlots } from '../../test/conformance/slots-late.ts'
import { testOnStores } from '../../test/conformance/stores.ts'

testOnStores(testSlots)
testOnStores(testLateSlots)
