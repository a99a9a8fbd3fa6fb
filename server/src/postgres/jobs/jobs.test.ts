import { testJobsGraph } from '../../../test/conformance/graphs/jobs-graph.ts'
import { testJobsGraphSlots } from '../../../test/conformance/graphs/jobs-graph-slots.ts'
import { testJobs } from '../../../test/conformance/jobs/jobs.ts'
import { testBackfill } from '../../../test/conformance/jobs/jobs-backfill.ts'
import { testJobsChange } from '../../../test/conformance/jobs/jobs-change.ts'
import { testJobsList } from '../../../test/conformance/jobs/jobs-list.ts'
import { testJobsSlots } from '../../../test/conformance/jobs/jobs-slots.ts'
import { testListPages } from '../../../test/conformance/jobs/list-pages.ts'
import { testOnStores } from '../../../test/conformance/stores.ts'

testOnStores(testJobs)
testOnStores(testJobsChange)
testOnStores(testJobsSlots)
testOnStores(testJobsGraph)
testOnStores(testJobsGraphSlots)
testOnStores(testJobsList)
testOnStores(testBackfill)
testOnStores(testListPages)
