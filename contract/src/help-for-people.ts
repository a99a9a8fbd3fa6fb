// The advice on an error is written for programs that call the API. A person at the dashboard or the command line gets the
// sentences that speak of neither fields, headers nor paths.

/** Names that mean the same to a person: settings of the server. */
const settings = /^(CARILLON_[A-Z_]+(=\w+)?|true)$/

/** Empty: nothing of it is for people. */
export function helpForPeople(help: string): string {
  const sentences = help.split(/(?<=[.!?])\s+/).filter(isForPeople)
  return sentences.join(' ').replaceAll('`', '')
}

function isForPeople(sentence: string): boolean {
  if (/\/openapi\.json|\/api\/v1/.test(sentence)) return false
  return [...sentence.matchAll(/`([^`]*)`/g)].every(([, name]) => settings.test(name!))
}
