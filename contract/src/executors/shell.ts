// shell: runs a program that the operator has allowed.
import { expected } from '../expected.ts'
import { defineFacts } from './facts.ts'

export const shell = defineFacts({
  label: 'Command',
  target: 'command',
  targetAbout: 'The program, if the executor is shell.',
  fields: {
    command: {
      shape: 'text',
      isRequired: true,
      keywords: {
        pattern: '^/',
        maxLength: 4_096,
        ...expected('an absolute path of at most 4,096 characters, such as /usr/bin/backup'),
      },
      about: 'an absolute path that the operator has allowed. It is started directly, without a shell.',
      flag: {
        name: 'command',
        value: 'PATH',
        about: 'run this program on the server (absolute path)',
        completes: 'file',
      },
      input: {
        label: 'Command',
        placeholder: '/usr/bin/backup',
        isCode: true,
        hint: 'An absolute path that the operator has allowed. It is started directly, without a shell.',
      },
    },
    args: {
      shape: 'list',
      keywords: { maxItems: 100 },
      items: { maxLength: 4_096 },
      bytesMax: 32 * 1024,
      separator: '\n',
      about: 'its arguments, 32 KB in all.',
      flag: { name: 'arg', value: 'TEXT', about: 'an argument of the program' },
      input: { label: 'Arguments', rows: 3 },
    },
    env: {
      shape: 'pairs',
      bytesMax: 8 * 1024,
      separator: '=',
      about:
        'its environment. Values can be written but not read back. Names have letters, digits and _, do not start with a digit, and do not start with CARILLON_. 8 KB in all.',
      flag: { name: 'env', value: 'NAME=VALUE', about: 'a variable of the program' },
      input: { label: 'Environment', rows: 3, placeholder: 'NAME=value' },
    },
  },
  rows: [['command'], ['args', 'env']],
  textOf: ({ command, args = [] }) => [command, ...args].join(' '),
})
