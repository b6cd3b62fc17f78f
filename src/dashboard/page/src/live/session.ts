import {useEffect, useState} from 'preact/hooks';
import type {FleetDocument, Session} from './documents';

/** Who looks, and whether they may approve. Null until it is known. */
export function useSession(): Session | null {
  const [session, set] = useState<Session | null>(null);
  useEffect(() => {
    fetch('/api/session').then(answer => (answer.ok ? answer.json() : null)).then(set, () => set(null));
  }, []);
  return session;
}

/** The names of all members, as they were when the page was opened: what there is to choose from. */
export function useClusterNames(page: string): string[] {
  const [names, set] = useState<string[]>([]);
  useEffect(() => {
    fetch('/api/view?view=fleet')
      .then(answer => (answer.ok ? (answer.json() as Promise<FleetDocument | {document: FleetDocument}>) : null))
      .then(answer => {
        const fleet = answer && 'document' in answer ? answer.document : answer;
        if (fleet) set(Object.keys(fleet.clusters));
      }, () => undefined);
  }, [page]);
  return names;
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
