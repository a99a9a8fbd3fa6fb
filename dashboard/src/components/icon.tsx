// Signs, drawn as lines so that no font decides how they look. They are always beside a word and hidden from readers.

const paths = {
  now: 'M2 9h3l2-5 3 9 2-4h2',
  executions: 'M3 4h10M3 8h10M3 12h6',
  jobs: 'M3 5h10v8H3zM6 5V3h4v2M3 9h10',
  calendar: 'M3 4h10v9H3zM3 7h10M6 2.5v3M10 2.5v3',
  graphs:
    'M4 4.5a1.5 1.5 0 1 0 0-.01M12 8a1.5 1.5 0 1 0 0-.01M4 11.5a1.5 1.5 0 1 0 0-.01M5.5 4.5l5 3M5.5 11.5l5-3',
  dead: 'M3 6l5 4 5-4M3 4h10v9H3z',
  sla: 'M3 13a5.5 5.5 0 1 1 10 0M8 10l2.5-3.5',
  workers: 'M4 4h8v8H4zM6.5 6.5h3v3h-3zM2 6h2M2 10h2M12 6h2M12 10h2M6 2v2M10 2v2M6 12v2M10 12v2',
  settings: 'M3 5h6M12 5h1M9 3.5v3M3 11h1M7 11h6M6 9.5v3',
  more: 'M3.5 8h.01M8 8h.01M12.5 8h.01',
  search: 'M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.5 10.5L14 14',
  check: 'M3 8.5l3.5 3.5L13 4.5',
  cross: 'M4 4l8 8M12 4l-8 8',
  clock: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 5v3.5l2 1.5',
  play: 'M5 3.5l7 4.5-7 4.5z',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  dots: 'M4 8h.01M8 8h.01M12 8h.01',
  hollow: 'M8 13A5 5 0 1 0 8 3a5 5 0 0 0 0 10z',
  slash: 'M8 13.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11zM4.2 4.2l7.6 7.6',
  retry: 'M13 8a5 5 0 1 1-1.5-3.5M13 2v3h-3',
  copy: 'M6 6h7v7H6zM3 10V3h7',
  down: 'M4 6l4 4 4-4',
  left: 'M10 3L5 8l5 5',
  right: 'M6 3l5 5-5 5',
  plus: 'M8 3v10M3 8h10',
  minus: 'M3 8h10',
  sun: 'M8 10.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM8 1.5v1.5M8 13v1.5M1.5 8H3M13 8h1.5M3.4 3.4l1 1M11.6 11.6l1 1M12.6 3.4l-1 1M4.4 11.6l-1 1',
  moon: 'M13 9.5A5.5 5.5 0 1 1 6.5 3a4.5 4.5 0 0 0 6.5 6.5z',
  screen: 'M2.5 3.5h11v7h-11zM6 13.5h4M8 10.5v3',
  edit: 'M3 13l.7-2.8 7-7 2.1 2.1-7 7z',
  trash: 'M3 4.5h10M6 4.5V3h4v1.5M4.5 4.5l.5 8.5h6l.5-8.5',
  warn: 'M8 2.5l6 11H2zM8 6.5v3.5M8 12h.01',
  bell: 'M3.5 11.5h9c-1.2-1.2-1.5-2.5-1.5-5a3 3 0 0 0-6 0c0 2.5-.3 3.8-1.5 5zM6.8 13.5a1.2 1.2 0 0 0 2.4 0M8 2v1.5',
} as const

export type IconName = keyof typeof paths

export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  )
}

/** The line of a sign, for drawings. */
export function iconPath(name: IconName): string {
  return paths[name]
}
