// http: calls an address.
import { executionDefaults } from '../constants.ts'
import { expected } from '../expected.ts'
import { defineFacts } from './facts.ts'

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
const addressKeywords = { minLength: 1, maxLength: 2_048 }
const aboutAddress = 'where the execution is sent; http or https.'

export const http = defineFacts({
  label: 'HTTP request',
  target: 'callback_url',
  targetAbout: null,
  fields: {
    callback_url: {
      shape: 'text',
      isRequired: true,
      keywords: {
        ...addressKeywords,
        ...expected('an address of at most 2,048 characters, such as https://example.com/hook'),
      },
      shown: { ...addressKeywords, description: `http: ${aboutAddress}` },
      about: aboutAddress,
      flag: {
        name: 'callback-url',
        value: 'URL',
        about: 'call this address (not --url, which is the server)',
      },
      input: {
        label: 'Address',
        placeholder: '{origin}/echo',
        hint: 'http or https. {origin}/echo answers with the request it got.',
      },
    },
    method: {
      shape: 'text',
      choices: methods,
      default: executionDefaults.method,
      flag: { name: 'method', value: 'METHOD', about: `one of ${methods.join(', ')}` },
      input: { label: 'Method' },
    },
    headers: {
      shape: 'pairs',
      bytesMax: 8 * 1024,
      separator: ':',
      ignoresCase: true,
      about: 'sent with every attempt. Values can be written but not read back. 8 KB in all.',
      flag: { name: 'header', value: 'NAME:VALUE', about: 'sent with each call' },
      input: { label: 'Headers', rows: 2, placeholder: 'X-API-Key: secret' },
    },
  },
  rows: [['callback_url'], ['method'], ['headers']],
  textOf: ({ method, callback_url: url }) => `${method} ${url}`,
})
