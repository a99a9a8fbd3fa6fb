// Figures for machines: one JSON line each, with --json.

export interface Figure {
  bench: string
  metric: string
  value: number
  unit: string
  ratio?: number
  against?: string
}

const json = process.argv.includes('--json')

export function figure(one: Figure): void {
  if (json) console.log(JSON.stringify(one))
}
