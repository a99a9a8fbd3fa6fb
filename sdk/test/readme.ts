// The commands and files of sdk/README.md, as a reader would go through them.

export type Step = { kind: 'commands'; text: string } | { kind: 'file'; name: string; text: string }

/** In order. A block of code is a file when its first line is a comment with its name. */
export function readSteps(markdown: string): Step[] {
  return [...markdown.matchAll(/^```(sh|js)\n([\s\S]*?)^```$/gm)].map(([, language, text]) => {
    if (language === 'sh') return { kind: 'commands', text: text! }
    const name = /^\/\/ (\S+)\n/.exec(text!)?.[1]
    if (name === undefined) throw new Error(`a block of code without the name of its file: ${text}`)
    return { kind: 'file', name, text: text! }
  })
}
