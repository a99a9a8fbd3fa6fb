// Compiles the schemas of answers into serializers, each when its first answer is sent and once in a process: most routes
// share theirs, and every app has the same ones.
import { type SerializerFactory, SerializerSelector } from '@fastify/fast-json-stringify-compiler'
import { OnceByText } from '../../lib/once-by-text.ts'
import { withRawJson } from './raw-json.ts'

type Compile = ReturnType<SerializerFactory>

const build = SerializerSelector()
const compilers = new OnceByText<Compile>()

export const buildSerializer: SerializerFactory = (externalSchemas, options) =>
  compilers.get(externalSchemas, () => {
    const compile = build(externalSchemas, options)
    const serializers = new OnceByText<ReturnType<typeof withRawJson>>()
    return (route) => {
      let serialize: ReturnType<typeof withRawJson> | undefined
      return (answer) => {
        serialize ??= serializers.get(route.schema, () => withRawJson(compile(route)))
        return serialize(answer)
      }
    }
  })
