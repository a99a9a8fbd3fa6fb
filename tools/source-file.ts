// A source file as the rules of tidy read it.

export interface SourceFile {
  path: string
  text: string
  isTest: boolean
}

export function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$|\s\/\/ .*$/gm, '')
}
