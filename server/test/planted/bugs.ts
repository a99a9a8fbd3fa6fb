// Bugs that the simulation must find. Each is a mistake that one of us could make in one line of code that the
// simulation runs: the decisions, the loops, and the memory store.
import type { PlantedBug } from './planted-bug.ts'

export const BUGS: readonly PlantedBug[] = [
  {
    name: 'slot not unique',
    file: '../testing/memory-store/slots.ts',
    find: "if (job.slots.has(slot)) return 'already_recorded'",
    replace: "if (job.slots.has(slot) && item.skip !== null) return 'already_recorded'",
    wrong: 'a slot that has its execution gets another one',
  },
  {
    name: 'fires while paused',
    file: '../testing/memory-store/slots.ts',
    find: "if (job?.cursor.version !== item.version || job.cursor.status !== 'ACTIVE') return 'stale'",
    replace: "if (job === undefined) return 'stale'",
    wrong:
      'a fire compares neither version nor status: an edited, paused or deleted job fires from a stale copy',
  },
  {
    name: 'cursor moves without its slot',
    file: '../testing/memory-store/slots.ts',
    find: "if (item.dueAt > this.#store.now()) return 'early'",
    replace:
      "if (item.dueAt > this.#store.now() - 5) { this.#move(job.cursor, item, 'already_recorded'); return 'already_recorded' }",
    wrong: 'a fire that comes a moment too early moves the cursor and writes no slot',
  },
  {
    name: 'fires early',
    file: '../testing/memory-store/slots.ts',
    find: "if (item.dueAt > this.#store.now()) return 'early'",
    replace: '',
    wrong: 'nobody compares the due time with the clock of the database',
  },
  {
    name: 'late plan made twice',
    file: '../testing/memory-store/slots.ts',
    find: 'if (to > decidedTo && from <= known) behind.add(jobId)',
    replace: '',
    wrong: 'what was planned for late slots is written though others decided some of them meanwhile',
  },
  {
    name: 'result without a fence',
    file: '../testing/memory-store/queue.ts',
    find: 'if (row?.workerId !== workerId || row.fence !== fence) {',
    replace: 'if (row === undefined) {',
    wrong: 'the result of a worker that was declared dead is taken for that of its successor',
  },
  {
    name: 'cancel that is only looked at',
    file: '../testing/memory-store/settle.ts',
    find: 'if (row.cancelMessage !== null) {',
    replace: "if (row.cancelMessage !== null && ending.kind !== 'ended') {",
    wrong: 'an acknowledged cancel is followed by the success of the worker',
  },
  {
    name: 'hand-back spends an attempt',
    file: '../testing/memory-store/settle.ts',
    find: "store.changeLive(row, { ...atRest, state: 'ready', attempt: row.attempt - 1, host: waitsFor })",
    replace: "store.changeLive(row, { ...atRest, state: 'ready', host: waitsFor })",
    wrong: 'what a worker hands back unstarted has used a number',
  },
  {
    name: 'reclaim forgets one',
    file: '../testing/memory-store/reclaim.ts',
    find: 'for (const row of [...lease.live]) {',
    replace: 'for (const row of [...lease.live].slice(1)) {',
    wrong: 'one execution of a dead worker stays with it for ever',
  },
  {
    name: 'watch that does not start anew',
    file: 'domain/queue/lease-watch.ts',
    find: 'const unbroken = sinceLookMs >= 0 && sinceLookMs <= this.#lookMsMax',
    replace: 'const unbroken = sinceLookMs >= 0',
    wrong: 'after an outage of the store live workers are declared dead before they could beat',
  },
  {
    name: 'term shorter than a beat',
    file: 'domain/queue/worker.ts',
    find: 'export const workerLeaseMs = 10_000',
    replace: 'export const workerLeaseMs = 2_500',
    wrong: 'a healthy worker is declared dead between two beats',
  },
  {
    name: 'retry with a key of its own',
    file: 'worker/executors/http.ts',
    find: "'x-idempotency-key': held.idempotencyKey ?? idempotencyKeyOf(kind, { jobId, executionId, slot }),",
    replace:
      "'x-idempotency-key': held.idempotencyKey ?? idempotencyKeyOf(kind, { jobId, executionId, slot }) + (attempt > 1 ? attempt : ''),",
    wrong: 'a target cannot tell a repetition from a new execution',
  },
  {
    name: 'asks for patience in vain',
    file: 'domain/queue/retry.ts',
    find: 'return Math.round(Math.max(delayMs, Math.min(retryAfterMs ?? 0, retryAfterMsMax)))',
    replace: 'return Math.round(delayMs)',
    wrong: 'Retry-After is not honoured',
  },
  {
    name: 'limit not counted',
    file: 'domain/queue/release.ts',
    find: 'let free = (job.concurrencyLimit ?? Number.POSITIVE_INFINITY) - job.underWay',
    replace: 'let free = job.concurrencyLimit ?? Number.POSITIVE_INFINITY',
    wrong: 'what is under way does not count against concurrency_limit',
  },
  {
    name: 'key one too wide',
    file: 'domain/queue/release.ts',
    find: 'if (held >= limit) return false',
    replace: 'if (held > limit) return false',
    wrong: 'one execution more than the limit holds a concurrency key',
  },
  {
    name: 'overlap not seen in batches',
    file: '../testing/memory-store/store.ts',
    find: 'if (owed !== null || batched.size > 0 || this.runRoots.has(jobId)) return true',
    replace: 'if (owed !== null || this.runRoots.has(jobId)) return true',
    wrong: 'a slot fires beside the one before it, which waits in a batch',
  },
  {
    name: 'catch-up uncapped',
    file: 'domain/scheduling/misfire.ts',
    find: 'FIRE_ONCE: 1,',
    replace: 'FIRE_ONCE: 1_000,',
    wrong: 'all missed slots run where the policy says one',
  },
  {
    name: 'fan-in let go twice',
    file: 'domain/graphs/graph-run.ts',
    find: "if (states[nodeIndex] !== 'blocked' || news.isCancelled) continue",
    replace:
      "if ((states[nodeIndex] !== 'blocked' && states[nodeIndex] !== 'going') || news.isCancelled) continue",
    wrong: 'a node goes again when its second parent ends',
  },
  {
    name: 'autumn hour runs twice',
    file: 'domain/schedule/zone-search.ts',
    find: '} else if (!pattern.bothPasses && local < start + before) local = start + before',
    replace: '}',
    wrong: 'where the clock goes back a daily slot comes a second time',
  },
  {
    name: 'spring hour is lost',
    file: 'domain/schedule/zone-search.ts',
    find: 'if (second === start && pattern.runAfterGap) {',
    replace: 'if (second < start && pattern.runAfterGap) {',
    wrong: 'where the clock goes forward a slot within the gap never comes',
  },
]
