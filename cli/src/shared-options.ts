// Options that several commands have.
import { flag, number, type OptionSpecs, text } from './command.ts'

export const yes: OptionSpecs = { yes: flag('do not ask', { short: 'y' }) }
export const dryRun: OptionSpecs = { 'dry-run': flag('show the effect without doing it') }
export const paging: OptionSpecs = {
  limit: number('N', 'maximum number of items (50)', { short: 'n' }),
  cursor: text('CURSOR', 'continue at the end of the previous page'),
}
