import {useState} from 'preact/hooks';
import {byName, number, plural} from '../format';
import type {NodeGroup} from '../live/documents';
import {ActButton, useMay} from './act';
import {ObjectLink} from './object_link';
import {Ago, Badge, Empty} from './basic';

/** Each group as a scale from min to max, with what is ready as a bar and the target as a mark. */
export function NodeGroups({cluster, groups}: {cluster: string; groups: Record<string, NodeGroup>}) {
  const names = Object.keys(groups).sort(byName);
  if (names.length === 0) return <Empty title="No node group">Without one the autoscaler can neither add nor remove nodes. <code>kubectl apply</code> a NodeGroup, or start it with a cloud provider.</Empty>;
  return (
    <ul class="groups">
      {names.map(name => <Group key={name} cluster={cluster} name={name} group={groups[name]!} />)}
    </ul>
  );
}

function Group({cluster, name, group}: {cluster: string; name: string; group: NodeGroup}) {
  const end = Math.max(group.max, group.target, group.ready, 1);
  const at = (value: number) => `${(Math.min(value, end) / end) * 100}%`;
  const words = `${group.ready} ready, ${group.upcoming} upcoming, target ${group.target}, between ${group.min} and ${group.max}`;
  return (
    <li>
      <div class="group-head">
        <h3>{group.scalable ? <ObjectLink kind="nodegroup" cluster={cluster} name={name}>{name}</ObjectLink> : name}</h3>
        <span><b>{group.ready}</b> ready{group.upcoming > 0 && <>, <b>{group.upcoming}</b> upcoming</>}, target <b>{group.target}</b></span>
        {group.pricePerHour !== null && group.pricePerHour !== undefined && <span class="note">{number(group.pricePerHour, 3)} per node and hour</span>}
      </div>
      <div class="group-scale" role="img" aria-label={words}>
        <span class="group-ready" style={{width: at(group.ready)}} />
        <span class="group-upcoming" style={{left: at(group.ready), width: at(group.upcoming)}} />
        <span class="group-min" style={{left: at(group.min)}} />
        <span class="group-target" style={{left: at(group.target)}} />
      </div>
      <div class="group-ends" aria-hidden="true"><span>min {group.min}</span><span>max {group.max}</span></div>
      {group.scalable && <Scale cluster={cluster} name={name} group={group} />}
      {group.backoffUntil && <p><Badge tone="warn">Back-off</Badge> goes on <Ago time={group.backoffUntil} />{group.backoffReason && <>: {group.backoffReason}</>}</p>}
      {group.target >= group.max && <p class="note">At its maximum of {plural(group.max, 'node')}: it cannot help pending pods.</p>}
    </li>
  );
}

/** The target that somebody wants. */
function Scale({cluster, name, group}: {cluster: string; name: string; group: NodeGroup}) {
  const may = useMay('scale');
  const [typed, setTyped] = useState<string | null>(null);
  if (!may) return null;
  const size = typed === null ? group.target : Number(typed);
  return (
    <p class="scale-form">
      <label>Target <input type="number" min={group.min} max={group.max} value={typed ?? group.target} onInput={event => setTyped(event.currentTarget.value)} /></label>
      <ActButton act={{action: 'scale', cluster, name, size: Number.isInteger(size) ? size : -1}} right="scale" label={`Scale ${name}`} done={() => setTyped(null)} />
    </p>
  );
}
