// The logged-in session. A login link carries a one-time code behind the #, which no server log sees.
import type { Session } from '@carillon/contract/session.ts'
import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { createStore, keep, readKept, useStore } from '../lib/store.ts'
import { api, loggedOut } from './client.ts'
import { queryClient } from './hooks.ts'
import { actInAddress } from './tenant.ts'

export type { Session }

/** Why the person is asked to log in; null: there was no session before. */
export const loginReason = createStore<'link' | 'ended' | null>(null)

/** Kept while a session is open, and no secret: without a session it says that there was one. */
const openMark = 'carillon.session'
const sessionKey = ['/session', {}]
/** A session belongs to a key, and not to the tenant in the address. */
const ownTenant = { tenantId: null }

export function useSession() {
  const times = useStore(loggedOut)
  const found = useQuery({
    queryKey: sessionKey,
    queryFn: () => openSession(),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
    retry: false,
  })
  const { refetch } = found
  useEffect(() => {
    if (times === 0) return
    loginReason.set('ended')
    void refetch()
  }, [times, refetch])
  return found
}

/** Whether the session may do this; the server decides, this only hides actions that it would refuse. */
export function useMay(scope: 'read' | 'write' | 'operate' | 'admin'): boolean {
  const { data } = useSession()
  return data !== undefined && data !== null && (data.scopes.includes(scope) || data.scopes.includes('admin'))
}

export async function logIn(credentials: { key: string } | { code: string }): Promise<void> {
  const session = await api.post<Session>('/session', credentials, ownTenant)
  keep(openMark, 'open')
  loginReason.set(null)
  become(session)
}

export async function logOut(): Promise<void> {
  await api.delete('/session', ownTenant)
  keep(openMark, null)
  loginReason.set(null)
  become(null)
}

// Data seen by another person's session is removed.
function become(session: Session | null): void {
  queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionKey[0] })
  actInAddress(session)
  queryClient.setQueryData(sessionKey, session)
}

async function openSession(): Promise<Session | null> {
  const session = await findSession()
  if (session === null && loginReason.get() === null && readKept(openMark) !== null) loginReason.set('ended')
  keep(openMark, session === null ? null : 'open')
  actInAddress(session)
  return session
}

async function findSession(): Promise<Session | null> {
  const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1]
  if (code !== undefined) {
    // The code is gone from the address before anything else can read it.
    history.replaceState(null, '', location.pathname + location.search)
    try {
      return await api.post<Session>('/session', { code }, ownTenant)
    } catch {
      // Used already, perhaps by this browser: the session it made may still be there.
      loginReason.set('link')
    }
  }
  try {
    return await api.get<Session>('/session', ownTenant)
  } catch (error) {
    if (error instanceof Error && 'status' in error && (error.status === 401 || error.status === 403))
      return null
    throw error
  }
}
