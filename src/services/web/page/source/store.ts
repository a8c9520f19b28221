// The state of the page, fed by /events. Views draw at most once a frame, and not at all in a hidden tab.
import { useEffect, useState } from 'preact/hooks';
import type { State } from './types';

export type Link = 'connecting' | 'live' | 'lost';
export interface Store { link: Link; state: State | null; }

const kMaxEvents = 300;
const kMaxMoves = 200;
let store: Store = { link: 'connecting', state: null };
const listeners = new Set<() => void>();
let scheduled = false;

function publish(next: Partial<Store>) {
  store = { ...store, ...next };
  if (scheduled) return;
  scheduled = true;
  const draw = () => { scheduled = false; for (const listener of listeners) listener(); };
  if (document.hidden) setTimeout(draw, 1000); else requestAnimationFrame(draw);
}

function change(part: Partial<State>) {
  if (store.state) publish({ state: { ...store.state, ...part } });
}

const handlers: Record<string, (data: any) => void> = {
  state: (data: State) => publish({ link: 'live', state: data }),
  // The members come by themselves, less often.
  status: (data) => change({ status: { ...data, members: store.state?.status?.members ?? [], counters: store.state?.status?.counters } }),
  members: (data) => { if (store.state?.status) change({ status: { ...store.state.status, members: data } }); },
  locks: (data) => change({ locks: data }),
  groups: (data) => change({ groups: data }),
  findings: (data) => change({ findings: data }),
  moves: (data) => change({ moves: [...(store.state?.moves ?? []), ...data].slice(-kMaxMoves) }),
  tempod: (data) => change({ tempod: data }),
  event: (data) => change({ events: [...(store.state?.events ?? []), data].slice(-kMaxEvents) }),
};

export function connect() {
  const source = new EventSource('/events');
  for (const [name, handle] of Object.entries(handlers))
    source.addEventListener(name, (message) => handle(JSON.parse((message as MessageEvent).data)));
  source.onerror = () => {
    publish({ link: 'lost' });
    if (source.readyState !== EventSource.CLOSED) return;  // the browser reconnects
    setTimeout(connect, 1000);
  };
}

export function useStore(): Store {
  const [, draw] = useState(0);
  useEffect(() => {
    const listener = () => draw((n) => n + 1);
    listeners.add(listener);
    return () => { listeners.delete(listener); };
  }, []);
  return store;
}

export async function ask<T>(path: string): Promise<T | null> {
  try {
    const reply = await fetch(`/api/v1/${path}`);
    if (!reply.ok) return null;
    return (await reply.json()).data as T;
  } catch {
    return null;
  }
}
