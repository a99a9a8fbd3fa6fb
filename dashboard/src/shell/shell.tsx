// The frame around every screen: rail or bar, tenant, freshness, how times and colours are shown, palette and keys.
import type { Session } from '@carillon/contract/session.ts'
import { Link, Outlet, useNavigate, useSearch } from '@tanstack/react-router'
import { Suspense, useEffect, useState } from 'react'
import { logOut } from '../api/session.ts'
import { tenantParameter } from '../api/tenant.ts'
import { Button } from '../components/button.tsx'
import { Dialog } from '../components/dialog.tsx'
import { Icon } from '../components/icon.tsx'
import { Loading } from '../components/page.tsx'
import { Toasts, toast } from '../components/toast.tsx'
import { startKeys, useKey } from '../lib/keys.ts'
import { useIsPhone } from '../lib/media.ts'
import { startLive } from '../live/live.ts'
import { type Destination, destinations } from './destinations.ts'
import { Freshness } from './freshness.tsx'
import { KeySheet } from './key-sheet.tsx'
import { Palette } from './palette.tsx'
import { ThemeSwitch, TimeSwitch } from './switches.tsx'
import { TenantInAddress, TenantSwitch } from './tenant-switch.tsx'

export function Shell({ session }: { session: Session }) {
  const [open, setOpen] = useState<'palette' | 'keys' | 'more' | null>(null)
  const isPhone = useIsPhone()
  // A screen of another tenant begins anew.
  const tenant = String((useSearch({ strict: false }) as Record<string, unknown>)[tenantParameter] ?? '')
  useEffect(startLive, [])
  useEffect(startKeys, [])
  useKey('mod+k', 'Go to a screen, a job or an id', () => setOpen('palette'))
  useKey('?', 'This sheet', () => setOpen('keys'))
  useKey('/', 'Search', focusSearch)
  const close = () => setOpen(null)
  return (
    <div className="shell">
      <TenantInAddress session={session} />
      <a className="skip-link" href="#main">
        Skip to the content
      </a>
      {destinations.map((destination) => (
        <GoKey key={destination.to} destination={destination} />
      ))}
      {isPhone ? (
        <PhoneBar onMore={() => setOpen('more')} />
      ) : (
        <Rail session={session} onPalette={() => setOpen('palette')} />
      )}
      <div className="column">
        <header className="top-bar">
          {isPhone && <TenantSwitch session={session} />}
          <Freshness />
          <span className="spacer" />
          {isPhone ? (
            <Button kind="quiet" icon="search" aria-label="Go to" onClick={() => setOpen('palette')} />
          ) : (
            <>
              <TimeSwitch />
              <ThemeSwitch />
            </>
          )}
        </header>
        <main id="main" tabIndex={-1}>
          <Suspense fallback={<Loading />}>
            <Outlet key={tenant} />
          </Suspense>
        </main>
      </div>
      {open === 'palette' && <Palette onClose={close} />}
      {open === 'keys' && <KeySheet onClose={close} />}
      {open === 'more' && <More onClose={close} />}
      <Toasts />
    </div>
  )
}

function GoKey({ destination }: { destination: Destination }) {
  const navigate = useNavigate()
  useKey(destination.key, destination.name, () => void navigate({ to: destination.to }))
  return null
}

function Rail({ session, onPalette }: { session: Session; onPalette(): void }) {
  return (
    <aside className="rail" aria-label="Sidebar">
      <div className="brand">
        <Icon name="bell" />
        Carillon
      </div>
      <TenantSwitch session={session} />
      <Button icon="search" className="rail-search" onClick={onPalette}>
        Go to <kbd>{navigator.platform.startsWith('Mac') ? '⌘K' : 'Ctrl K'}</kbd>
      </Button>
      <nav aria-label="Screens">
        {destinations.map((destination) => (
          <ScreenLink key={destination.to} destination={destination} />
        ))}
      </nav>
      <span className="spacer" />
      <a className="rail-link" href="/docs">
        Docs
      </a>
      <LogOut />
    </aside>
  )
}

function ScreenLink({ destination, onClick }: { destination: Destination; onClick?: () => void }) {
  const { name, to, icon } = destination
  return (
    <Link
      to={to}
      className="rail-link"
      activeOptions={{ exact: to === '/', includeSearch: false }}
      activeProps={{ 'aria-current': 'page' }}
      {...(onClick !== undefined && { onClick })}
    >
      <Icon name={icon} />
      {name}
    </Link>
  )
}

function LogOut() {
  return (
    <button
      type="button"
      className="rail-link"
      onClick={() => void logOut().catch((error: unknown) => toast(String(error), 'failed'))}
    >
      Log out
    </button>
  )
}

function PhoneBar({ onMore }: { onMore(): void }) {
  return (
    <nav className="phone-bar" aria-label="Screens">
      {destinations
        .filter(({ onPhone }) => onPhone === true)
        .map((destination) => (
          <ScreenLink key={destination.to} destination={destination} />
        ))}
      <button type="button" className="rail-link" onClick={onMore}>
        <Icon name="more" />
        More
      </button>
    </nav>
  )
}

function More({ onClose }: { onClose(): void }) {
  return (
    <Dialog title="More" onClose={onClose}>
      <nav className="more-list" aria-label="More screens">
        {destinations
          .filter(({ onPhone }) => onPhone !== true)
          .map((destination) => (
            <ScreenLink key={destination.to} destination={destination} onClick={onClose} />
          ))}
        <a className="rail-link" href="/docs">
          Docs
        </a>
        <LogOut />
      </nav>
      <div className="more-switches">
        <TimeSwitch />
        <ThemeSwitch />
      </div>
    </Dialog>
  )
}

function focusSearch(): void {
  const field = document.querySelector<HTMLInputElement>('[data-search]')
  field?.focus()
  field?.select()
}
