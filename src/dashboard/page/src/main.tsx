import {render} from 'preact';
import {useEffect, useState} from 'preact/hooks';
import './style/tokens.css';
import './style/base.css';
import './style/parts.css';
import './style/pages.css';
import {byName} from './format';
import type {Session} from './live/documents';
import {useClusterNames, useSession, type ClusterNames} from './live/session';
import {BalancePage} from './pages/balance';
import {ClusterPage} from './pages/cluster';
import {EventsPage} from './pages/events';
import {FleetPage} from './pages/fleet';
import {PeoplePage} from './pages/people';
import {RolloutsPage} from './pages/rollouts';
import {Confirming, Viewer} from './parts/act';
import {Empty} from './parts/basic';
import {LoginForm} from './parts/login';
import {ObjectPane} from './parts/object';
import {Search} from './parts/search';
import {Awaited, ConnectionNote, Shell} from './parts/shell';
import {useStored} from './parts/hooks';
import {lookedAt, useRoute} from './route';
import {startTheme} from './theme';

function App() {
  const route = useRoute();
  const known = useClusterNames(route.page);
  const names = known.names ?? [];
  const [last, setLast] = useStored('cluster', '');
  // The tabs lead to the cluster that was looked at last.
  const cluster = route.cluster ?? (names.includes(last) ? last : [...names].sort(byName)[0] ?? null);
  useEffect(() => {
    if (route.cluster) setLast(route.cluster);
  }, [route.cluster]);
  const object = route.query.get('object');
  const looked = lookedAt(object);
  // Rights may be of one member; of an object that is looked at, of its own.
  const session = useSession(looked?.cluster || (route.page === 'cluster' || route.page === 'balance' ? cluster : null));
  const [searching, setSearching] = useState(false);
  return (
    <Viewer.Provider value={session}>
      <Confirming>
        <Shell route={route} cluster={cluster} session={session} search={() => setSearching(true)}>
          <Page page={route.page} cluster={cluster} known={known} route={route} session={session} />
        </Shell>
        {looked && <ObjectPane key={object} looked={looked} />}
        {searching && <Search names={names} close={() => setSearching(false)} />}
      </Confirming>
    </Viewer.Provider>
  );
}

function Page({page, cluster, known, route, session}: {
  page: string; cluster: string | null; known: ClusterNames; route: ReturnType<typeof useRoute>; session: Session | null;
}) {
  if (page === 'rollouts') return <RolloutsPage />;
  if (page === 'events') return <EventsPage key={route.query.toString()} route={route} />;
  if (page === 'fleet') return <FleetPage />;
  if (page === 'people') return <PeoplePage session={session} />;
  if (!cluster) return <NoCluster known={known} />;
  const names = known.names ?? [];
  return page === 'cluster' ? <ClusterPage key={cluster} cluster={cluster} names={names} /> : <BalancePage key={cluster} cluster={cluster} names={names} />;
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
// Nothing else is shown where somebody logs in.
render(location.pathname === '/login' ? <main id="main"><LoginForm /></main> : <App />, document.getElementById('app')!);
