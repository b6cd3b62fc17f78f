import {useEffect, useState} from 'preact/hooks';
import type {Session} from './documents';
import type {Connection} from './stream';

/** Who looks, and what they may do there. Null until it is known. `anew` changes when it is to be asked again. */
export function useSession(cluster: string | null): Session | null {
  const [session, set] = useState<Session | null>(null);
  useEffect(() => {
    let ended = false;
    void ask<Session>(`/api/session${cluster ? `?cluster=${encodeURIComponent(cluster)}` : ''}`).then(answer => {
      if (!ended) set(answer.value);
    });
    return () => {
      ended = true;
    };
  }, [cluster]);
  return session;
}

export interface ClusterNames {
  /** Null until they are known. */
  names: string[] | null;
  connection: Connection;
  /** Why the hub does not say them, or says old ones. */
  message: string;
}

/** As long as there are none, or nobody says so, it is asked again. */
const askAgainMs = 3_000;

async function askNames(): Promise<ClusterNames> {
  try {
    const answer = await fetch('/api/view?view=names');
    if (answer.status === 401) return {names: null, connection: 'denied', message: ''};
    const said = (await answer.json()) as {hub?: {message?: string}; clusters?: Record<string, unknown>; message?: string};
    if (!answer.ok) return {names: null, connection: 'refused', message: said.message ?? `the server answered ${answer.status}`};
    return {names: Object.keys(said.clusters ?? {}), connection: 'live', message: said.hub?.message ?? ''};
  } catch {
    return {names: null, connection: 'lost', message: ''};
  }
}

/** The names of all members, as they were when the page was opened: what there is to choose from. */
export function useClusterNames(page: string): ClusterNames {
  const [known, set] = useState<ClusterNames>({names: null, connection: 'connecting', message: ''});
  useEffect(() => {
    let timer = 0;
    let ended = false;
    const ask = async () => {
      const next = document.hidden ? null : await askNames();
      if (ended) return;
      if (next) set(was => ({...next, names: next.names ?? was.names}));
      if (!next?.names?.length) timer = window.setTimeout(() => void ask(), askAgainMs);
    };
    void ask();
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }, [page]);
  return known;
}

export interface Answer<T> {
  value: T | null;
  /** What went wrong, in the server's words; "" when nothing did. */
  problem: string;
  /** Of HTTP; 0: the server cannot be reached. */
  status: number;
}

async function answered<T>(question: Promise<Response>): Promise<Answer<T>> {
  try {
    const answer = await question;
    const said = (await answer.json().catch(() => null)) as (T & {message?: string}) | null;
    if (answer.ok) return {value: said, problem: '', status: answer.status};
    return {value: null, problem: said?.message ?? `the server answered ${answer.status}`, status: answer.status};
  } catch {
    return {value: null, problem: 'the server cannot be reached', status: 0};
  }
}

export function ask<T>(path: string, signal?: AbortSignal): Promise<Answer<T>> {
  return answered<T>(fetch(path, signal ? {signal} : {}));
}

/** With the header that no other site's form can send. */
export function send<T>(path: string, body: unknown): Promise<Answer<T>> {
  return answered<T>(fetch(path, {method: 'POST', headers: {'content-type': 'application/json', 'x-evenkeel': '1'}, body: JSON.stringify(body)}));
}

export function login(token: string): Promise<Answer<{user: string}>> {
  return answered(fetch('/login', {
    method: 'POST', headers: {'content-type': 'application/x-www-form-urlencoded', 'x-evenkeel': '1'}, body: new URLSearchParams({token}).toString(),
  }));
}

export interface Act {
  action: 'cordon' | 'uncordon' | 'drain' | 'scale' | 'pause' | 'resume' | 'approve' | 'reject';
  cluster?: string;
  namespace?: string;
  name: string;
  size?: number;
}

export interface Preview {
  title: string;
  effects: string[];
  warnings: string[];
  /** What it was worked out from: if things are others by then, nothing happens. */
  seen: string;
}

export const look = (act: Act) => send<Preview>('/api/actions', {...act, dryRun: true});
export const carryOut = (act: Act, seen: string) => send<{message: string}>('/api/actions', {...act, seen});
