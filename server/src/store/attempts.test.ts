import { testAttemptsFind } from '../../test/conformance/attempts-find.ts'
import { testAttemptsNote } from '../../test/conformance/attempts-note.ts'
import { testAttemptsReport } from '../../test/conformance/attempts-report.ts'
import { testOnStores } from '../../test/conformance/stores.ts'

testOnStores(testAttemptsFind)
testOnStores(testAttemptsNote)
testOnStores(testAttemptsReport)
