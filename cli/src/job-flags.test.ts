import assert from 'node:assert/strict'
import test from 'node:test'
import { EXECUTORS, fieldsOf } from '@carillon/contract/executors/list.ts'
import type { OptionSpecs } from './command.ts'
import { jobFlags, targetFlag } from './job-flags.ts'

const flags: OptionSpecs = jobFlags

for (const type of EXECUTORS) {
  test(`each field of ${type} that has an option is one of jobs create`, () => {
    assert(flags[targetFlag(type)] !== undefined)
    for (const [, { flag, shape }] of fieldsOf(type)) {
      if (flag === undefined) continue
      assert.equal(flags[flag.name]?.about, flag.about)
      assert.equal(flags[flag.name]?.kind, shape === 'text' ? 'text' : 'list')
    }
  })
}
