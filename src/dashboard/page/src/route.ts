import {useEffect, useState} from 'preact/hooks';

// The address after # names the page: #/fleet, #/cluster/member-1, #/balance/member-1, #/rollouts, #/events?text=web. What is chosen on a page is
// behind the "?", so that the address can be sent to somebody: a filter, an order, an object that is looked at.

export type Page = 'fleet' | 'cluster' | 'balance' | 'rollouts' | 'events' | 'people';
export const pages: readonly Page[] = ['fleet', 'cluster', 'balance', 'rollouts', 'events'];
/** Also those that are in no tab. */
const known: readonly Page[] = [...pages, 'people'];

export interface Route {
  page: Page;
  cluster: string | null;
  query: URLSearchParams;
}

/** What somebody typed need not be well-formed. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function parsed(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const [first = '', second = ''] = path.split('/', 2);
  const page = known.find(name => name === first) ?? 'fleet';
  return {page, cluster: second ? decoded(second) : null, query: new URLSearchParams(query)};
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

/** One choice of the page, which its address holds; `first` is not in the address. */
export function useParam(name: string, first = ''): [string, (value: string) => void] {
  const read = () => parsed(location.hash).query.get(name) ?? first;
  const [value, set] = useState(read);
  useEffect(() => {
    const changed = () => set(read());
    addEventListener('hashchange', changed);
    return () => removeEventListener('hashchange', changed);
  }, [name, first]);
  return [value, next => {
    set(next);
    replace(withParams({[name]: next === first ? '' : next}));
  }];
}

/** The address as it is, with other choices; "" takes one away. */
export function withParams(changes: Record<string, string>): string {
  const {page, cluster, query} = parsed(location.hash);
  return href(page, cluster, {...Object.fromEntries(query), ...changes});
}

/** An object that is looked at: "pod/member-1/default/web-1". */
export interface Looked {
  kind: string;
  cluster: string;
  namespace: string;
  name: string;
}

const kinds: Record<string, string> = {pod: 'Pod', node: 'Node', nodegroup: 'NodeGroup', plan: 'BalancingPlan', policy: 'BalancingPolicy', rollout: 'MultiClusterZooKeeper'};

export function lookedAt(text: string | null): Looked | null {
  const [kind = '', cluster = '', ...rest] = (text ?? '').split('/');
  const name = rest.at(-1);
  if (!kinds[kind] || !name) return null;
  return {kind: kinds[kind], cluster, namespace: rest.length > 1 ? rest[0]! : '', name};
}

/** The address as it is, with that object looked at. */
export function objectHref(kind: string, cluster: string, name: string): string {
  return withParams({object: `${kind}/${cluster}/${name}`, tab: ''});
}
