import { testPeers } from '../../../test/conformance/queue/peers.ts'
import { testOnStores } from '../../../test/conformance/stores.ts'

testOnStores(testPeers)
