// The engine against the oracle, on more cases than differential.test.ts has.
import { fixedSeed, testAgreement } from './compare-with-oracle.ts'

testAgreement(fixedSeed, 20_000)
