// An example of the SDK as a process of its own, run as a user would.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { cleanUp } from '../../server/test/cleanup.ts'

export interface ExampleOptions {
  /** Default: this Node. */
  node?: string
  file: string
  args?: readonly string[]
  /** Default: where the test runs. */
  cwd?: string
  url: string
  key: string
}

export class Example {
  readonly child: ChildProcess
  readonly exit: Promise<number | null>
  stdout = ''
  stderr = ''

  constructor(t: TestContext, { node = process.execPath, file, args = [], cwd, url, key }: ExampleOptions) {
    const env = { PATH: process.env['PATH'], CARILLON_URL: url, CARILLON_API_KEY: key }
    this.child = spawn(node, [file, ...args], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
    this.child.stdout!.on('data', (chunk: Buffer) => (this.stdout += chunk))
    this.child.stderr!.on('data', (chunk: Buffer) => (this.stderr += chunk))
    this.exit = once(this.child, 'close').then(([code]) => code as number | null)
    cleanUp(t, async () => {
      this.child.kill('SIGKILL')
      await this.exit
    })
  }

  async says(words: RegExp): Promise<void> {
    for (let waitedMs = 0; waitedMs < 60_000 && !words.test(this.stdout); waitedMs += 20) {
      if (this.child.exitCode !== null) break
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    assert.match(this.stdout, words, this.said())
  }

  said(): string {
    return `exit code ${this.child.exitCode}\n${this.stdout}\n${this.stderr}`
  }
}
