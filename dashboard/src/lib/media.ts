// Whether the window is as narrow as a phone.
import { useSyncExternalStore } from 'react'

const phone = typeof matchMedia === 'function' ? matchMedia('(max-width: 720px)') : null

export function useIsPhone(): boolean {
  return useSyncExternalStore(
    (listener) => {
      phone?.addEventListener('change', listener)
      return () => phone?.removeEventListener('change', listener)
    },
    () => phone?.matches ?? false,
  )
}
