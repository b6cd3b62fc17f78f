import {useEffect, useState} from 'preact/hooks';

// The address after # names the page: #/fleet, #/cluster/member-1, #/balance/member-1, #/rollouts, #/events?text=web.

export type Page = 'fleet' | 'cluster' | 'balance' | 'rollouts' | 'events';
export const pages: readonly Page[] = ['fleet', 'cluster', 'balance', 'rollouts', 'events'];

export interface Route {
  page: Page;
  cluster: string | null;
  query: URLSearchParams;
}

export function parsed(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const [first = '', second = ''] = path.split('/', 2);
  const page = pages.find(name => name === first) ?? 'fleet';
  return {page, cluster: second ? decodeURIComponent(second) : null, query: new URLSearchParams(query)};
}

export function href(page: Page, cluster?: string | null, query?: Record<string, string>): string {
  const text = new URLSearchParams(Object.entries(query ?? {}).filter(([, value]) => value)).toString();
  return `#/${page}${cluster ? `/${encodeURIComponent(cluster)}` : ''}${text ? `?${text}` : ''}`;
}

export function go(to: string) {
  location.hash = to;
}

/** Changes the address without a step in the history: a filter that is being typed is not a page. */
export function replace(to: string) {
  history.replaceState(null, '', to);
}

export function useRoute(): Route {
  const [route, set] = useState(() => parsed(location.hash));
  useEffect(() => {
    const changed = () => set(parsed(location.hash));
    addEventListener('hashchange', changed);
    return () => removeEventListener('hashchange', changed);
  }, []);
  return route;
}
