// worker: runs a handler in a process of the user's own.
import { expected, nameForm } from '../expected.ts'
import { defineFacts } from './facts.ts'

export const handlerForm = nameForm('a name', 'rebuild-index')
export const labelForm = {
  pattern: '^[A-Za-z0-9._:/-]{1,64}$',
  ...expected('a label of 1 to 64 letters, digits and . _ : / -, such as eu-west'),
}

export const worker = defineFacts({
  label: 'Worker function',
  target: 'handler',
  targetAbout: 'The handler, if the executor is worker.',
  fields: {
    handler: {
      shape: 'text',
      isRequired: true,
      keywords: handlerForm,
      about: 'the name under which a worker registered it.',
      flag: { name: 'handler', value: 'NAME', about: 'run this handler of your workers' },
      input: {
        label: 'Handler',
        placeholder: 'rebuild-index',
        hint: 'The name under which your worker registered it.',
      },
    },
    labels: {
      shape: 'list',
      keywords: { maxItems: 32 },
      items: labelForm,
      separator: ', ',
      about: 'only a worker that has all of them runs it.',
      flag: { name: 'label', value: 'LABEL', about: 'only on workers with this label' },
      input: {
        label: 'Labels',
        placeholder: 'large, eu',
        hint: 'Only a worker that has all of them runs it.',
      },
    },
  },
  rows: [['handler', 'labels']],
  textOf: ({ handler, labels = [] }) =>
    `handler ${handler}${labels.length === 0 ? '' : ` on workers with ${labels.join(', ')}`}`,
})
