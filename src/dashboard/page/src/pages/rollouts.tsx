import {byName, plural} from '../format';
import type {Ensemble, EnsembleMember, RolloutRecord, RolloutsDocument} from '../live/documents';
import {useView} from '../live/stream';
import {ActButton} from '../parts/act';
import {Ago, Badge, Card, Empty, Since, type Tone} from '../parts/basic';
import {ObjectLink} from '../parts/object_link';
import {Icon} from '../parts/icon';
import {Awaited, ConnectionNote, ReadingNote} from '../parts/shell';
import {href} from '../route';

const emptyRollouts: RolloutsDocument = {ensembles: {}};

export function RolloutsPage() {
  const live = useView<RolloutsDocument>('rollouts', emptyRollouts);
  const {document} = live;
  const names = document ? Object.keys(document.ensembles).sort(byName) : [];
  return (
    <>
      <ConnectionNote live={live} />
      {document
        ? (
          <>
            <header class="page-head"><div><h1>Rollouts</h1><p class="sub">In which order a stateful application changes, cluster by cluster.</p></div></header>
            {document.unread && <ReadingNote>The hub cannot be read: {document.unread}. Whatever you see is from before.</ReadingNote>}
            {names.length === 0 && !document.unread && (
              <Empty title="No ensemble yet">
                A MultiClusterZooKeeper and a PropagationPolicy on the hub make one: <code>kubectl --context hub get multiclusterzookeepers -A</code>
              </Empty>
            )}
            <div class="grid">{names.map(name => <EnsembleCard key={name} name={name} ensemble={document.ensembles[name]!} />)}</div>
          </>
        )
        : <Awaited connection={live.connection} />}
    </>
  );
}

/** Done, being done, waiting, in trouble: from the words that records and clusters use. */
export function stateTone(state: string): Tone {
  if (/fail|unhealthy|lost/i.test(state)) return 'bad';
  if (/paus|rollingback|degrad|unreach/i.test(state)) return 'warn';
  if (/deploying|draining|updating|rolling|progress|joining|leaving/i.test(state)) return 'info';
  if (/done|ready|deployed|updated|stable|complete/i.test(state)) return 'ok';
  return 'quiet';
}

function EnsembleCard({name, ensemble}: {name: string; ensemble: Ensemble}) {
  const order = ensemble.order?.length ? ensemble.order : Object.keys(ensemble.clusters).sort(byName);
  const clusters = [...order, ...Object.keys(ensemble.clusters).filter(cluster => !order.includes(cluster)).sort(byName)];
  const records = Object.keys(ensemble.records).sort().reverse();
  const [namespace = '', own = ''] = name.split('/');
  return (
    <Card id={`ensemble-${name.replace('/', '-')}`} wide title={<>{name} <Badge tone={ensemble.paused ? 'warn' : stateTone(ensemble.phase)}>{ensemble.paused ? 'Paused' : ensemble.phase}</Badge></>}
      note={ensemble.revision ? `revision ${ensemble.revision}` : undefined}
      actions={<><ObjectLink kind="rollout" cluster="" name={name}>YAML and events</ObjectLink><ActButton act={{action: ensemble.paused ? 'resume' : 'pause', namespace, name: own}} right="pause" label={ensemble.paused ? 'Go on' : 'Pause'} /></>}>
      {ensemble.message && <p>{ensemble.message}</p>}
      <Quorum ensemble={ensemble} />
      <ol class="track" aria-label="Clusters in the order of their changes">
        {clusters.map((cluster, index) => <Station key={cluster} index={index} cluster={cluster} ensemble={ensemble} />)}
      </ol>
      {records.length > 0 && (
        <details class="records" open>
          <summary>Records, the latest first</summary>
          <div class="table-scroll" role="region" aria-label={`Records of ${name}`} tabIndex={0}>
            <table>
              <caption class="unseen">Records of {name}: the state of each cluster</caption>
              <thead><tr><th scope="col">Record</th>{clusters.map(cluster => <th key={cluster} scope="col">{cluster}</th>)}</tr></thead>
              <tbody>
                {records.slice(0, 12).map(id => <Record key={id} id={id} record={ensemble.records[id]!} clusters={clusters} />)}
              </tbody>
            </table>
          </div>
        </details>
      )}
    </Card>
  );
}

/** Where it is on the track, and below that what is to be said of it. */
function Record({id, record, clusters}: {id: string; record: RolloutRecord; clusters: string[]}) {
  const said = [record.reason, record.message].filter(Boolean).join(': ');
  return (
    <>
      <tr class={said ? 'open' : undefined}>
        <th scope="row">
          {record.generation !== undefined ? `generation ${record.generation}` : id}{record.current && <span class="note"> now</span>}
          {record.status && <> <Badge tone={stateTone(record.status)}>{record.status}</Badge></>}
          <p class="note">
            {record.revision && `revision ${record.revision}`}{record.startedAt && <>{record.revision && ', '}begun <Ago time={record.startedAt} /></>}{record.progress && `, ${record.progress}`}
          </p>
        </th>
        {clusters.map(cluster => {
          const state = record.clusters[cluster];
          return <td key={cluster}>{state ? <><Badge tone={stateTone(state.state)}>{state.state}</Badge>{state.since && <span class="note"> <Ago time={state.since} /></span>}</> : <span class="quiet">–</span>}</td>;
        })}
      </tr>
      {said && <tr><td colSpan={clusters.length + 1}>{said}</td></tr>}
    </>
  );
}

/** How many more servers may fail: one dot a server, with a line where the quorum ends. */
function Quorum({ensemble: {quorum, servers, leader}}: {ensemble: Ensemble}) {
  const tone: Tone = quorum.margin < 0 ? 'bad' : quorum.margin === 0 ? 'warn' : 'ok';
  const words = quorum.margin < 0 ? `no quorum: ${quorum.healthy} of the ${quorum.needed} that it needs` : quorum.margin === 0 ? 'no server more may fail' : `${plural(quorum.margin, 'server')} more may fail`;
  return (
    <div class="quorum">
      <span class="quorum-dots" role="img" aria-label={`${quorum.healthy} of ${servers.total} servers are healthy, ${quorum.needed} are needed`}>
        {Array.from({length: servers.total}, (_, index) => (
          <span key={index} class={`quorum-dot ${index < quorum.healthy ? 'healthy' : ''} ${index === quorum.needed - 1 ? 'last-needed' : ''}`} />
        ))}
      </span>
      <Badge tone={tone}>{words}</Badge>
      <span class="note">{servers.ready} of {servers.total} ready, {quorum.needed} needed</span>
      <span>{leader ? <><Icon name="crown" /> <b>{leader}</b> leads</> : <span class="warn-text">no leader</span>}</span>
    </div>
  );
}

function Station({index, cluster, ensemble}: {index: number; cluster: string; ensemble: Ensemble}) {
  const state = ensemble.clusters[cluster];
  const members = Object.entries(state?.members ?? {}).sort(([a], [b]) => byName(a, b));
  const known = state?.ready !== null && state?.ready !== undefined;
  const tone = state && known ? stateTone(state.state) : 'quiet';
  return (
    <li class={`station ${tone}`}>
      <span class="station-number" aria-hidden="true">{index + 1}</span>
      <div class="station-body">
        <h3><a href={href('cluster', cluster)}>{cluster}</a> {state && <Badge tone={tone}>{state.state}</Badge>}</h3>
        {state && <p class="note">{known ? `${state.ready} of ${plural(state.replicas, 'server')} ready` : `${plural(state.replicas, 'server')}, of which nothing is known`}{state.unknownSince && <>, unknown<Since time={state.unknownSince} /></>}{state.revision && `, revision ${state.revision}`}</p>}
        {state?.message && <p class={known ? undefined : 'warn-text'}>{state.message}</p>}
        {members.length > 0 && <ul class="members">{members.map(([name, member]) => <Member key={name} name={name} member={member} leads={ensemble.leader === `${name} in ${cluster}`} />)}</ul>}
      </div>
    </li>
  );
}

function Member({name, member, leads}: {name: string; member: EnsembleMember; leads: boolean}) {
  const tone: Tone = member.role === 'down' ? 'bad' : !member.ready || (member.role === 'leader' && !leads) ? 'warn' : 'ok';
  return (
    <li class="member">
      <Badge tone={tone} {...(leads ? {icon: 'crown' as const} : {})}>{leads ? 'leader' : member.role === 'leader' ? 'says that it leads' : member.role}</Badge>
      <span>{name}</span>
      {member.id !== undefined && <span class="note">id {member.id}</span>}
    </li>
  );
}
