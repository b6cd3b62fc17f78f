import type {ComponentChildren} from 'preact';
import {go, href, objectHref} from '../route';

/** Leads to an object over the page as it is by then: what was filtered meanwhile stays. */
export function ObjectLink({kind, cluster, name, children}: {kind: string; cluster: string; name: string; children: ComponentChildren}) {
  return (
    <a class="strong" href={cluster ? href('cluster', cluster, {object: `${kind}/${cluster}/${name}`}) : href('rollouts', null, {object: `${kind}//${name}`})} onClick={event => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      go(objectHref(kind, cluster, name));
    }}>{children}</a>
  );
}
