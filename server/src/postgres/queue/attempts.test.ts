import { testAttemptsFind } from '../../../test/conformance/queue/attempts-find.ts'
import { testAttemptsNote } from '../../../test/conformance/queue/attempts-note.ts'
import { testAttemptsReport } from '../../../test/conformance/queue/attempts-report.ts'
import { testOnStores } from '../../../test/conformance/stores.ts'

testOnStores(testAttemptsFind)
testOnStores(testAttemptsNote)
testOnStores(testAttemptsReport)
