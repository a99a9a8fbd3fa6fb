// Four figures that say whether anything is wrong, each a link to the list behind it.
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'

export interface Tile {
  name: string
  /** Null: not known yet. */
  value: string | null
  note: string
  tone: 'good' | 'bad' | 'warn'
  to: '/jobs' | '/dead-letters' | '/sla' | '/'
  search?: Record<string, string>
  hash?: string
}

export function Tiles({ tiles }: { tiles: readonly Tile[] }) {
  return (
    <ul className="tiles" aria-label="At a glance">
      {tiles.map((tile) => (
        <li key={tile.name}>
          <TileLink tile={tile}>
            <span className="tile-name">{tile.name}</span>
            <span className={`tile-value tile-${tile.value === null ? 'unknown' : tile.tone}`}>
              {tile.value ?? '…'}
            </span>
            <span className="tile-note dim">{tile.note}</span>
          </TileLink>
        </li>
      ))}
    </ul>
  )
}

function TileLink({ tile: { to, search, hash }, children }: { tile: Tile; children: ReactNode }) {
  return (
    <Link
      className="tile"
      to={to}
      {...(search !== undefined && { search: search as never })}
      {...(hash !== undefined && { hash })}
    >
      {children}
    </Link>
  )
}
