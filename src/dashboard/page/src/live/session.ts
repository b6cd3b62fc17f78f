import {useEffect, useState} from 'preact/hooks';
import type {Session} from './documents';
import type {Connection} from './stream';

/** Who looks, and whether they may approve. Null until it is known. */
export function useSession(): Session | null {
  const [session, set] = useState<Session | null>(null);
  useEffect(() => {
    fetch('/api/session').then(answer => (answer.ok ? answer.json() : null)).then(set, () => set(null));
  }, []);
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

/** Approves exactly the plan that was shown. Resolves to what went wrong, or null. */
export async function approve(plan: {cluster: string; plan: string; uid: string; hash: string}): Promise<string | null> {
  try {
    const answer = await fetch('/api/approve', {
      method: 'POST', headers: {'content-type': 'application/json', 'x-evenkeel': '1'}, body: JSON.stringify(plan),
    });
    if (answer.ok) return null;
    const said = (await answer.json().catch(() => null)) as {message?: string} | null;
    return said?.message ?? `the server answered ${answer.status}`;
  } catch {
    return 'the server cannot be reached';
  }
}
