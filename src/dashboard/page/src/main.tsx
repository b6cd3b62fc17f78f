import {render} from 'preact';
import {useEffect} from 'preact/hooks';
import './style/tokens.css';
import './style/base.css';
import './style/parts.css';
import './style/pages.css';
import {byName} from './format';
import {useClusterNames, useSession, type ClusterNames} from './live/session';
import {BalancePage} from './pages/balance';
import {ClusterPage} from './pages/cluster';
import {EventsPage} from './pages/events';
import {FleetPage} from './pages/fleet';
import {RolloutsPage} from './pages/rollouts';
import {Empty} from './parts/basic';
import {Awaited, ConnectionNote, Shell} from './parts/shell';
import {useStored} from './parts/hooks';
import {useRoute} from './route';
import {startTheme} from './theme';

function App() {
  const route = useRoute();
  const session = useSession();
  const known = useClusterNames(route.page);
  const names = known.names ?? [];
  const [last, setLast] = useStored('cluster', '');
  // The tabs lead to the cluster that was looked at last.
  const cluster = route.cluster ?? (names.includes(last) ? last : [...names].sort(byName)[0] ?? null);
  useEffect(() => {
    if (route.cluster) setLast(route.cluster);
  }, [route.cluster]);
  return (
    <Shell route={route} cluster={cluster} session={session}>
      <Page page={route.page} cluster={cluster} known={known} route={route} mayWrite={session?.mayWrite ?? false} />
    </Shell>
  );
}

function Page({page, cluster, known, route, mayWrite}: {
  page: string; cluster: string | null; known: ClusterNames; route: ReturnType<typeof useRoute>; mayWrite: boolean;
}) {
  if (page === 'rollouts') return <RolloutsPage />;
  if (page === 'events') return <EventsPage key={route.query.toString()} route={route} />;
  if (page === 'fleet') return <FleetPage />;
  if (!cluster) return <NoCluster known={known} />;
  const names = known.names ?? [];
  return page === 'cluster' ? <ClusterPage key={cluster} cluster={cluster} names={names} /> : <BalancePage key={cluster} cluster={cluster} names={names} mayWrite={mayWrite} />;
}

/** None is known; why, if anybody knows that. */
function NoCluster({known: {names, connection, message}}: {known: ClusterNames}) {
  return (
    <>
      <ConnectionNote live={{document: null, connection, lostAt: 0, message}} />
      {names === null
        ? <Awaited connection={connection} />
        : message
          ? <Empty title="The hub does not say which clusters there are">{message}. It is asked again by itself.</Empty>
          : <Empty title="No member cluster yet">As soon as the hub has one, it is here. The page <a href="#/fleet">Fleet</a> says how to register one.</Empty>}
    </>
  );
}

startTheme();
render(<App />, document.getElementById('app')!);
