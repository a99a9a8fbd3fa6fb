// artifact: runs code from an uploaded bundle.
import { checksumForm, expected, nameForm } from '../expected.ts'
import { defineFacts } from './facts.ts'

export const artifactIdForm = nameForm('an id', 'report-1.4.0')

export const artifact = defineFacts({
  label: 'Artifact',
  target: 'artifact_id',
  targetAbout: 'The bundle, if the executor is artifact.',
  fields: {
    artifact_id: {
      shape: 'text',
      isRequired: true,
      keywords: artifactIdForm,
      about: 'the bundle.',
      flag: { name: 'artifact', value: 'ID', about: 'run this bundle' },
      input: { label: 'Artifact', hint: 'The id under which the bundle was uploaded.' },
    },
    sha256: {
      shape: 'text',
      keywords: checksumForm,
      about:
        'the required SHA-256 of the bundle; left out: the bundle that has this id when an attempt starts.',
      input: { label: 'SHA-256', placeholder: 'any bundle with this id', isCode: true },
    },
    entrypoint: {
      shape: 'text',
      isRequired: true,
      keywords: {
        minLength: 1,
        maxLength: 512,
        ...expected('a text of at most 512 characters, such as main.js:run or bin/report'),
      },
      about: '`file:function`, or the path of an executable in the bundle.',
      flag: { name: 'entrypoint', value: 'FILE:FUNCTION', about: 'entry point of the bundle' },
      input: { label: 'Entrypoint', placeholder: 'main.js:run', isCode: true },
    },
  },
  rows: [['artifact_id', 'entrypoint', 'sha256']],
  textOf: ({ artifact_id: id, entrypoint }) => `artifact ${id} ${entrypoint}`,
})
