// The addresses of the screens. Each screen is a file of its own that is loaded when somebody goes there.
import {
  createRootRoute,
  createRoute,
  createRouter,
  Link,
  lazyRouteComponent,
  type RouteComponent,
} from '@tanstack/react-router'
import { App } from './app.tsx'
import { Empty, ErrorBox, Page } from './components/page.tsx'
import { formatSearch, parseSearch } from './lib/filters.ts'

const root = createRootRoute({
  component: App,
  notFoundComponent: () => (
    <Page title="Not found">
      <Empty title="There is no such screen.">
        <Link to="/">Go to Now</Link>
      </Empty>
    </Page>
  ),
  errorComponent: ({ error }) => <ErrorBox error={error} onRetry={() => location.reload()} />,
})

function screen(path: string, component: RouteComponent) {
  return createRoute({ getParentRoute: () => root, path, component })
}

const routes = [
  screen(
    '/',
    lazyRouteComponent(() => import('./screens/now/now-screen.tsx'), 'NowScreen'),
  ),
  screen(
    '/executions',
    lazyRouteComponent(() => import('./screens/executions/executions-screen.tsx'), 'ExecutionsScreen'),
  ),
  screen(
    '/executions/$executionId',
    lazyRouteComponent(() => import('./screens/execution/execution-screen.tsx'), 'ExecutionScreen'),
  ),
  screen(
    '/jobs',
    lazyRouteComponent(() => import('./screens/jobs/jobs-screen.tsx'), 'JobsScreen'),
  ),
  screen(
    '/jobs/new',
    lazyRouteComponent(() => import('./screens/job-editor/job-editor-screen.tsx'), 'JobEditorScreen'),
  ),
  screen(
    '/jobs/$jobId',
    lazyRouteComponent(() => import('./screens/job/job-screen.tsx'), 'JobScreen'),
  ),
  screen(
    '/jobs/$jobId/edit',
    lazyRouteComponent(() => import('./screens/job-editor/job-editor-screen.tsx'), 'JobEditorScreen'),
  ),
  screen(
    '/calendar',
    lazyRouteComponent(() => import('./screens/calendar/calendar-screen.tsx'), 'CalendarScreen'),
  ),
  screen(
    '/graphs',
    lazyRouteComponent(() => import('./screens/graphs/graphs-screen.tsx'), 'GraphsScreen'),
  ),
  screen(
    '/graphs/$graphRunId',
    lazyRouteComponent(() => import('./screens/graph-run/graph-run-screen.tsx'), 'GraphRunScreen'),
  ),
  screen(
    '/dead-letters',
    lazyRouteComponent(() => import('./screens/dead-letters/dead-letters-screen.tsx'), 'DeadLettersScreen'),
  ),
  screen(
    '/sla',
    lazyRouteComponent(() => import('./screens/sla/sla-screen.tsx'), 'SlaScreen'),
  ),
  screen(
    '/workers',
    lazyRouteComponent(() => import('./screens/workers/workers-screen.tsx'), 'WorkersScreen'),
  ),
  screen(
    '/settings',
    lazyRouteComponent(() => import('./screens/settings/settings-screen.tsx'), 'SettingsScreen'),
  ),
]

export const router = createRouter({
  routeTree: root.addChildren(routes),
  parseSearch,
  stringifySearch: formatSearch,
  defaultPreload: 'intent',
  scrollRestoration: true,
  defaultErrorComponent: ({ error, reset }) => <ErrorBox error={error} onRetry={reset} />,
})
