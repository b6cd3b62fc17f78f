import {useMemo, useRef, useState} from 'preact/hooks';
import {byName, digitsFor, fixed, number, plural} from '../format';
import type {BalancePlan} from '../live/documents';
import {approve} from '../live/session';
import {Ago, Badge, Empty, type Tone} from './basic';
import {Icon} from './icon';
import {Table, type Column} from './table';

type Movement = BalancePlan['movements'][string] & {id: string};

export function phaseTone(phase: string): Tone {
  if (/^(done|landed)$/i.test(phase)) return 'ok';
  if (/^(failed|refused|elsewhere)$/i.test(phase)) return 'warn';
  if (/^(executing|evicting|evicted)$/i.test(phase)) return 'info';
  return 'quiet';
}

const columnsFor = (digits: number): Column<Movement>[] => [
  {key: 'pod', title: 'Pod', grow: true, compare: (a, b) => byName(a.pod, b.pod), render: row => <span class="strong">{row.pod}</span>},
  {key: 'from', title: 'From → to', compare: (a, b) => byName(a.from, b.from), render: row => <span class="nowrap">{row.from} <Icon name="arrow" /> {row.to}</span>},
  {key: 'gain', title: 'Energy gained', numeric: true, compare: (a, b) => (a.gain ?? 0) - (b.gain ?? 0), render: row => fixed(row.gain, digits)},
  {key: 'state', title: 'State', wide: true, compare: (a, b) => byName(a.state, b.state), render: row => <Badge tone={phaseTone(row.state)}>{row.state}</Badge>},
  {key: 'reason', title: 'Why', wide: true, grow: true, render: row => row.reason ?? ''},
];

export function PlanCard({cluster, plan, mayWrite, hasPolicy}: {cluster: string; plan: BalancePlan | null; mayWrite: boolean; hasPolicy: boolean}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [shown, setShown] = useState<BalancePlan | null>(null);
  const rows = useMemo(() => (plan ? Object.entries(plan.movements).map(([id, movement]): Movement => ({...movement, id})).sort((a, b) => byName(a.id, b.id)) : []), [plan]);
  const digits = digitsFor(rows.map(row => row.gain));
  const columns = useMemo(() => columnsFor(digits), [digits]);
  if (!plan) return <Empty title="No plan at the moment">{hasPolicy ? 'A plan is made when a metric is out of balance.' : 'A BalancingPolicy in this cluster begins it.'}</Empty>;
  return (
    <>
      <div class="plan-head">
        <div>
          <h3>{plan.name} <Badge tone={phaseTone(plan.phase)}>{plan.phase}</Badge></h3>
          <p>{plan.message || (plan.approvable ? 'Waits for approval: nothing moves before.' : '')}</p>
          <p class="note">made <Ago time={plan.created} />{plan.policy && ` by policy ${plan.policy}`}{plan.reason && ` (${plan.reason})`}{plan.deviation && <>; deviation {number(plan.deviation.before, 3)} <Icon name="arrow" /> <b>{number(plan.deviation.after, 3)}</b></>}</p>
        </div>
        {plan.approvable && mayWrite && (
          <button type="button" class="primary" onClick={() => {
            // What is confirmed is what was shown when the button was pressed, whatever arrives meanwhile.
            setShown(plan);
            dialog.current?.showModal();
          }}>Approve {plural(rows.length, 'move')}</button>
        )}
        {plan.approvable && !mayWrite && <span class="note">Your token may read only; approve with <code>kubectl --context {cluster} patch balancingplan {plan.name} --type merge --patch '{'{"spec": {"approved": true}}'}'</code>.</span>}
      </div>
      <Table label={`Moves of ${plan.name}`} columns={columns} rows={rows} rowKey={row => row.id} pageSize={20} detail={row => (
        <dl class="reasons">
          <div><dt>Why</dt><dd>{row.reason || 'no reason was given'}</dd></div>
          <div><dt>State</dt><dd>{row.state}{row.message && `: ${row.message}`}</dd></div>
          {row.node && <div><dt>Now on</dt><dd>{row.node}</dd></div>}
        </dl>
      )} />
      <Confirm cluster={cluster} plan={shown} dialog={dialog} stale={shown !== null && shown.hash !== plan.hash} />
    </>
  );
}

function Confirm({cluster, plan, dialog, stale}: {cluster: string; plan: BalancePlan | null; dialog: preact.RefObject<HTMLDialogElement>; stale: boolean}) {
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const moves = plan ? Object.entries(plan.movements).sort(([a], [b]) => byName(a, b)) : [];
  const send = async () => {
    if (!plan) return;
    setBusy(true);
    const said = await approve({cluster, plan: plan.name, uid: plan.uid, hash: plan.hash});
    setBusy(false);
    setProblem(said);
    if (said === null) dialog.current?.close();
  };
  return (
    <dialog ref={dialog} class="confirm" aria-labelledby="confirm-title" onClose={() => setProblem(null)}>
      <h2 id="confirm-title">Carry out this plan in {cluster}?</h2>
      <p>{plural(moves.length, 'pod is', 'pods are')} evicted, one after another, and made again elsewhere:</p>
      <ol class="moves" tabIndex={0} aria-label="Moves">
        {moves.map(([id, move]) => <li key={id}><b>{move.pod}</b><span>{move.from} <Icon name="arrow" /> {move.to}</span></li>)}
      </ol>
      <p class="note">Exactly this plan (hash <code>{plan?.hash.slice(0, 12)}</code>) is approved. If the cluster has changed since, nothing is moved.</p>
      {stale && <p class="banner warn"><Icon name="warning" /> A newer plan has come. This one may be refused.</p>}
      <p class="bad-text" role="alert">{problem}</p>
      <div class="confirm-end">
        <button type="button" onClick={() => dialog.current?.close()}>Cancel</button>
        <button type="button" class="primary" disabled={busy} onClick={() => void send()}>{busy ? 'Approving …' : 'Approve'}</button>
      </div>
    </dialog>
  );
}
