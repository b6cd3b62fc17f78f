import {useEffect, useState} from 'preact/hooks';
import type {Session, SessionRow} from '../live/documents';
import {ask, send} from '../live/session';
import {useMay} from '../parts/act';
import {Ago, Card, Empty} from '../parts/basic';
import {Table, type Column} from '../parts/table';

const words: Record<string, string> = {
  logs: 'read logs', cordon: 'cordon nodes', drain: 'drain nodes', scale: 'scale node groups', approve: 'approve and reject plans', pause: 'pause rollouts', sessions: 'see and end sessions',
};

/** Who looks, what they may do, and who else is logged in. */
export function PeoplePage({session}: {session: Session | null}) {
  const may = useMay('sessions');
  const [rows, setRows] = useState<SessionRow[] | null>(null);
  const [problem, setProblem] = useState('');
  const read = async () => {
    const answer = await ask<{sessions: SessionRow[]}>('/api/sessions');
    setRows(answer.value?.sessions ?? null);
    setProblem(answer.problem);
  };
  useEffect(() => {
    if (may) void read();
  }, [may]);
  const leave = async () => {
    await send('/api/logout', {});
    location.reload();
  };
  const revoke = async (handle: string) => {
    const answer = await send('/api/sessions', {revoke: handle});
    if (answer.problem) setProblem(answer.problem);
    else await read();
  };
  const columns: Column<SessionRow>[] = [
    {key: 'user', title: 'Who', grow: true, render: row => <><span class="strong">{row.user}</span>{row.own && <span class="note"> you</span>}</>},
    {key: 'from', title: 'From', wide: true, render: row => row.from},
    {key: 'opened', title: 'Logged in', wide: true, render: row => <Ago time={row.opened} />},
    {key: 'used', title: 'Last seen', render: row => <Ago time={row.used} />},
    {key: 'revoke', title: 'End it', render: row => <button type="button" onClick={() => void revoke(row.handle)} aria-label={`End the session of ${row.user} from ${row.from}`}>End</button>},
  ];
  const allowed = Object.entries(session?.may ?? {}).filter(([, yes]) => yes).map(([right]) => words[right] ?? right);
  return (
    <>
      <header class="page-head"><div><h1>People</h1><p class="sub">Who looks at this dashboard, and what they may do.</p></div></header>
      <div class="grid">
        <Card id="you" title={session?.user ?? 'You'} actions={<button type="button" onClick={() => void leave()}>Log out</button>}>
          {session?.unknown
            ? <p class="banner warn">It is not known what you may do, so you may only look: {session.unknown}</p>
            : <p>You may look{allowed.length > 0 && `, ${allowed.join(', ')}`}. The hub's roles say so.</p>}
        </Card>
        <Card id="sessions" title="Sessions" wide>
          {problem && <p class="bad-text" role="alert">{problem}</p>}
          {may
            ? <Table label="Sessions" columns={columns} rows={rows ?? []} rowKey={row => row.handle} empty={<Empty title="Nobody is logged in">Programs with a token have no session.</Empty>} />
            : <Empty title="You may not see who else is logged in">The role evenkeel-dashboard-admin allows it.</Empty>}
        </Card>
      </div>
    </>
  );
}
