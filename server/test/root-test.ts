// Tests that take root on Linux. Elsewhere they say that they did not run, in the report of the run.
import test, { type TestContext } from 'node:test'

export const isRootOnLinux = process.platform === 'linux' && process.getuid?.() === 0

export function rootTest(name: string, run: (t: TestContext) => Promise<void>): void {
  void test(name, async (t) => {
    if (isRootOnLinux) await run(t)
    else sayNotRun(t)
  })
}

export function sayNotRun(t: TestContext): void {
  t.diagnostic(`DID NOT RUN, as it takes root on Linux: ${t.name}`)
}
