// The addresses of the screens. Each screen is a file of its own that is loaded when somebody goes there.
import {
  createRootRoute,
  createRoute,
  createRouter,
  Link,
  lazyRouteComponent,
  type RouteComponent,
  retainSearchParams,
} from '@tanstack/react-router'
import { followAddress, readTenant, tenantParameter } from './api/tenant.ts'
import { App } from './app.tsx'
import { Empty, ErrorBox, Page } from './components/page.tsx'
import { formatSearch, parseSearch } from './lib/filters.ts'

const root = createRootRoute({
  // Every link within the page keeps the tenant.
  search: { middlewares: [retainSearchParams([tenantParameter as never])] },
  component: App,
  notFoundComponent: () => (
    <Page title="Not found">
      <Empty title="Page not found.">
        <Link to="/">Go to Now</Link>
      </Empty>
    </Page>
  ),
  errorComponent: ({ error }) => <ErrorBox error={error} onRetry={() => location.reload()} />,
})

function screen<Name extends string>(
  path: string,
  load: () => Promise<Record<Name, RouteComponent>>,
  name: Name,
) {
  return createRoute({ getParentRoute: () => root, path, component: lazyRouteComponent(load, name) })
}

const editor = () => import('./screens/job-editor/job-editor-screen.tsx')
const letters = () => import('./screens/dead-letters/dead-letters-screen.tsx')

const routes = [
  screen('/', () => import('./screens/now/now-screen.tsx'), 'NowScreen'),
  screen('/executions', () => import('./screens/executions/executions-screen.tsx'), 'ExecutionsScreen'),
  screen(
    '/executions/$executionId',
    () => import('./screens/execution/execution-screen.tsx'),
    'ExecutionScreen',
  ),
  screen('/jobs', () => import('./screens/jobs/jobs-screen.tsx'), 'JobsScreen'),
  screen('/jobs/new', editor, 'JobEditorScreen'),
  screen('/jobs/$jobId', () => import('./screens/job/job-screen.tsx'), 'JobScreen'),
  screen('/jobs/$jobId/edit', editor, 'JobEditorScreen'),
  screen('/calendar', () => import('./screens/calendar/calendar-screen.tsx'), 'CalendarScreen'),
  screen('/graphs', () => import('./screens/graphs/graphs-screen.tsx'), 'GraphsScreen'),
  screen('/graphs/$graphRunId', () => import('./screens/graph-run/graph-run-screen.tsx'), 'GraphRunScreen'),
  screen('/dead-letters', letters, 'DeadLettersScreen'),
  screen('/sla', () => import('./screens/sla/sla-screen.tsx'), 'SlaScreen'),
  screen('/workers', () => import('./screens/workers/workers-screen.tsx'), 'WorkersScreen'),
  screen('/settings', () => import('./screens/settings/settings-screen.tsx'), 'SettingsScreen'),
]

export const router = createRouter({
  routeTree: root.addChildren(routes),
  parseSearch,
  stringifySearch: formatSearch,
  defaultPreload: 'intent',
  scrollRestoration: true,
  defaultErrorComponent: ({ error, reset }) => <ErrorBox error={error} onRetry={reset} />,
})

// Before the screen asks for anything. The cached answers of the former tenant go where it is chosen: shell/tenant-switch.tsx.
router.subscribe('onBeforeLoad', ({ toLocation }) =>
  followAddress(readTenant((toLocation.search as Record<string, unknown>)[tenantParameter])),
)
