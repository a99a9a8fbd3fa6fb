// A node:test reporter that prints only the line CI reads: `N passed, N failed`. A test that did not run to its end
// (cancelled, skipped, todo) counts as failed.

interface TestEvent {
  type: string
  data: { file?: string; counts?: Record<string, number> }
}

export default async function* closingLine(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const { type, data } of events) {
    if (type !== 'test:summary' || data.file !== undefined) continue
    const { passed = 0, failed = 0, cancelled = 0, skipped = 0, todo = 0 } = data.counts ?? {}
    yield `\n${passed} passed, ${failed + cancelled + skipped + todo} failed\n`
  }
}
