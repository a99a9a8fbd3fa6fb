// Where the page begins.
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { queryClient } from './api/hooks.ts'
import { applyTheme } from './lib/preferences.ts'
import { router } from './router.tsx'
import './styles/theme.css'
import './styles/base.css'
import './styles/shell.css'
import './styles/components.css'
import './styles/table.css'
import './styles/touch.css'

applyTheme()
createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
)
