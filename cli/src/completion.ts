// `carillon completion SHELL`: a script for the shell, which asks `carillon __complete` at each Tab. So completions
// come from the table of commands, and names of jobs from the server.

import type { Command, Completes, OptionSpec } from './command.ts'
import { isOwnOption, optionsOf } from './command.ts'
import { readProvenAddress } from './connection.ts'
import type { Context } from './context.ts'

export const SHELLS = ['bash', 'zsh', 'fish'] as const

const scripts: Readonly<Record<(typeof SHELLS)[number], string>> = {
  bash: `# carillon completion for bash. Put it in ~/.bashrc:  source <(carillon completion bash)
_carillon() {
  local IFS=$'\\n' found
  found=$(carillon __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1)
  if [ "$found" = ':files' ]; then
    COMPREPLY=($(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}"))
    compopt -o filenames 2>/dev/null
  else
    COMPREPLY=($(compgen -W "$found" -- "\${COMP_WORDS[COMP_CWORD]}"))
  fi
}
complete -F _carillon carillon
`,
  zsh: `#compdef carillon
# carillon completion for zsh. Put it in ~/.zshrc:  source <(carillon completion zsh)
_carillon() {
  local -a lines found
  lines=("\${(@f)$(carillon __complete -- "\${words[@]:1:$((CURRENT-1))}" 2>/dev/null)}")
  if [[ "\${lines[1]}" == ':files' ]]; then
    _files
    return
  fi
  local line
  for line in "\${lines[@]}"; do
    [[ -n "$line" ]] && found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  _describe 'carillon' found
}
compdef _carillon carillon
`,
  fish: `# carillon completion for fish. Once:  carillon completion fish > ~/.config/fish/completions/carillon.fish
function __carillon_complete
    set -l current (commandline -ct)
    set -l words (commandline -opc) "$current"
    set -l found (carillon __complete -- $words[2..-1] 2>/dev/null)
    if test "$found[1]" = ':files'
        __fish_complete_path "$current"
    else
        printf '%s\\n' $found
    end
end
complete -c carillon -f -a '(__carillon_complete)'
`,
}

export async function printCompletion({ args, out }: Context): Promise<undefined> {
  out.write(scripts[args[0] as (typeof SHELLS)[number]])
  return
}

/** Words that may come next, each with a description; `:files` leaves it to the shell. */
export async function complete(context: Context, commands: readonly Command[]): Promise<undefined> {
  const words = context.args
  const found = await suggest(words, commands, (kind) => namesOf(kind, context))
  if (found === 'files') context.out.write(':files\n')
  else context.out.write(found.map(([word, about]) => `${word}\t${about}\n`).join(''))
  return
}

type Suggestion = readonly [word: string, about: string]

export async function suggest(
  words: readonly string[],
  commands: readonly Command[],
  names: (kind: 'job') => Promise<string[]>,
): Promise<readonly Suggestion[] | 'files'> {
  const current = words.at(-1) ?? ''
  const before = words.slice(0, -1)
  const shown = commands.filter(({ hidden }) => hidden !== true)
  const typed = before.filter((word) => !word.startsWith('-'))
  const command = shown
    .filter(({ path }) => path.every((word, i) => typed[i] === word))
    .toSorted((a, b) => b.path.length - a.path.length)[0]
  const starting = (found: readonly Suggestion[]) => found.filter(([word]) => word.startsWith(current))
  if (command === undefined) {
    const next = shown.filter(({ path }) => typed.every((word, i) => path[i] === word))
    const seen = new Map(
      next.map(({ path, about }) => [path[typed.length]!, path.length - 1 === typed.length ? about : '…']),
    )
    return starting([...seen])
  }
  const specs = Object.entries(optionsOf(command))
  const previous = before.at(-1) ?? ''
  const asked = specs.find(([name, { short }]) => previous === `--${name}` || previous === `-${short}`)
  if (asked !== undefined && !['flag', 'maybe'].includes(asked[1].kind))
    return valuesOf(asked[1], names, starting)
  if (current.startsWith('-')) {
    const ordered = specs.toSorted(
      ([a], [b]) => Number(isOwnOption(command, b)) - Number(isOwnOption(command, a)),
    )
    return starting(ordered.map(([name, { about }]) => [`--${name}`, about]))
  }
  const [argument] = (command.arguments ?? []).slice(-1)
  if (argument === undefined) return []
  return valuesOf(argument, names, starting)
}

async function valuesOf(
  { choices, completes }: { choices?: readonly string[]; completes?: Completes } & Partial<OptionSpec>,
  names: (kind: 'job') => Promise<string[]>,
  starting: (found: readonly Suggestion[]) => readonly Suggestion[],
): Promise<readonly Suggestion[] | 'files'> {
  if (choices !== undefined) return starting(choices.map((choice) => [choice, '']))
  if (completes === 'file') return 'files'
  if (completes === 'job') return starting((await names('job')).map((name) => [name, '']))
  return []
}

const askMsMax = 1_500
const jobsMax = 1_000

async function namesOf(_kind: 'job', { values, io }: Context): Promise<string[]> {
  try {
    const { url, key } = await readProvenAddress(values, io)
    if (key === null) return []
    const { createClient } = await import('@carillon/sdk')
    const { jobWords } = await import('./find-job.ts')
    const words = await jobWords(
      createClient({ url, key, retries: 0 }),
      jobsMax,
      AbortSignal.timeout(askMsMax),
    )
    // A name with a space would be two words.
    return words.filter((word) => !/\s/.test(word))
  } catch {
    // Nobody wants an error message under the cursor.
    return []
  }
}
