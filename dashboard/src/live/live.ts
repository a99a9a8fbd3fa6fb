// The one live stream of the page. It is read by fetch, because EventSource cannot send our header. A hidden page
// holds no stream: it lets go after a moment and resumes where it was when it is looked at again.
import type { EventData } from '@carillon/contract/event.ts'
import { apiBase, apiHeaders, chosenTenant, loggedOut, pathWithQuery } from '../api/client.ts'
import { noteServerTime } from '../lib/now.ts'
import { createStore } from '../lib/store.ts'
import { createSseParser } from './sse.ts'

/** The data of each event. */
export type LiveEvents = Omit<EventData, 'hello'>
export type Pulse = LiveEvents['pulse']
export type LiveExecution = LiveEvents['executions']['items'][number]

export type LiveState = 'connecting' | 'live' | 'paused' | 'offline'

export interface LiveStatus {
  state: LiveState
  /** When something was last heard, on this machine's clock; null: never. */
  heardAtMs: number | null
  pulse: Pulse | null
}

const pulsesMax = 900
const hiddenMs = 5_000
const watchMs = 100
/** The stream says something every second; so long without a word, and it is opened anew. */
const silentMsMax = 20_000
const backOffMsMax = 30_000

export const liveStatus = createStore<LiveStatus>({ state: 'connecting', heardAtMs: null, pulse: null })
/** The latest pulses, oldest first. */
export const pulses: Pulse[] = []

type Handler<Type extends keyof LiveEvents> = (event: LiveEvents[Type]) => void
const handlers = new Map<string, Set<Handler<never>>>()
let watched: string | null = null
let openedFor: string | null = null
let watchTimer: number | undefined
let lastEventId: string | null = null
let connection: AbortController | null = null
let retryTimer: number | undefined
let failures = 0

/** Calls `handler` for every such event; the answer ends that. */
export function onLive<Type extends keyof LiveEvents>(type: Type, handler: Handler<Type>): () => void {
  const all = handlers.get(type) ?? new Set()
  handlers.set(type, all)
  all.add(handler as Handler<never>)
  return () => void all.delete(handler as Handler<never>)
}

/** Asks the stream to tell this execution and its log too; null: none. */
export function watchExecution(executionId: string | null): void {
  watched = executionId
  // From one execution to the next it is null for a moment; the stream is opened anew once.
  window.clearTimeout(watchTimer)
  watchTimer = window.setTimeout(() => {
    if (connection !== null && openedFor !== watched) connect()
  }, watchMs)
}

/** Opens the stream and keeps it open; the answer closes it. */
export function startLive(): () => void {
  let hiddenTimer: number | undefined
  const onVisibility = () => {
    window.clearTimeout(hiddenTimer)
    if (!document.hidden) {
      if (connection === null) connect()
    } else {
      hiddenTimer = window.setTimeout(() => {
        disconnect()
        setState('paused')
      }, hiddenMs)
    }
  }
  const stopTenant = chosenTenant.subscribe(() => {
    forget()
    if (connection !== null) connect()
  })
  document.addEventListener('visibilitychange', onVisibility)
  window.addEventListener('online', onVisibility)
  connect()
  return () => {
    document.removeEventListener('visibilitychange', onVisibility)
    window.removeEventListener('online', onVisibility)
    window.clearTimeout(hiddenTimer)
    stopTenant()
    disconnect()
    forget()
  }
}

function forget(): void {
  lastEventId = null
  pulses.length = 0
  liveStatus.set({ state: 'connecting', heardAtMs: null, pulse: null })
}

function disconnect(): void {
  window.clearTimeout(retryTimer)
  connection?.abort()
  connection = null
}

function connect(): void {
  disconnect()
  const abort = new AbortController()
  connection = abort
  openedFor = watched
  void read(abort)
    .catch(() => undefined)
    .then(() => {
      if (connection !== abort) return
      connection = null
      failures += 1
      setState('offline')
      const waitMs = Math.min(backOffMsMax, 500 * 2 ** failures) * (0.5 + Math.random() / 2)
      retryTimer = window.setTimeout(connect, waitMs)
    })
}

async function read(abort: AbortController): Promise<void> {
  if (liveStatus.get().state !== 'offline') setState('connecting')
  const response = await fetch(apiBase + pathWithQuery('/events', { watch: watched }), {
    credentials: 'same-origin',
    headers: {
      ...apiHeaders(),
      Accept: 'text/event-stream',
      ...(lastEventId !== null && { 'Last-Event-ID': lastEventId }),
    },
    signal: abort.signal,
  })
  if (response.status === 401) loggedOut.set(loggedOut.get() + 1)
  if (!response.ok || response.body === null) throw new Error(`The stream answered ${response.status}.`)
  failures = 0
  const parse = createSseParser((event) => {
    if (event.id !== null) lastEventId = event.id
    take(event.type, event.data)
  })
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let silentTimer: number | undefined
  try {
    for (;;) {
      window.clearTimeout(silentTimer)
      silentTimer = window.setTimeout(() => {
        if (connection === abort) connect()
      }, silentMsMax)
      const { done, value } = await reader.read()
      if (done) return
      parse(value)
    }
  } finally {
    window.clearTimeout(silentTimer)
  }
}

function take(type: string, data: string): void {
  const parsed = JSON.parse(data) as unknown
  const status = liveStatus.get()
  if (type === 'reset') lastEventId = null
  if (type === 'hello' || type === 'pulse') {
    const { as_of } = parsed as { as_of: string }
    noteServerTime(as_of)
    if (type === 'pulse') {
      pulses.push(parsed as Pulse)
      if (pulses.length > pulsesMax) pulses.splice(0, pulses.length - pulsesMax)
    }
    liveStatus.set({
      state: 'live',
      heardAtMs: Date.now(),
      pulse: type === 'pulse' ? (parsed as Pulse) : status.pulse,
    })
  }
  for (const handler of [...(handlers.get(type) ?? [])]) handler(parsed as never)
}

function setState(state: LiveState): void {
  liveStatus.set({ ...liveStatus.get(), state })
}
