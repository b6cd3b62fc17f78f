import {render} from 'preact';
import './style/tokens.css';
import './style/base.css';
import './style/parts.css';
import './style/pages.css';
import './style/report.css';
import {number} from './format';
import {Card} from './parts/basic';
import {Chart} from './parts/chart';
import {Icon} from './parts/icon';
import {Logo, ThemeSwitch} from './parts/shell';
import {Table, type Column} from './parts/table';
import {Bars} from './report/bars';
import type {Move, ReportData, ReportTable} from './report/data';
import {DistributionPicture} from './report/distribution';
import {OwnersPicture} from './report/owners';
import {Playback} from './report/playback';
import {clockOf, formatOf} from './report/units';
import {startTheme} from './theme';

type MoveRow = Move & {id: number};

const moveColumns: Column<MoveRow>[] = [
  {key: 't', title: 'Time', compare: (a, b) => a.t - b.t, render: row => clockOf(row.t)},
  {key: 'cluster', title: 'Cluster', wide: true, compare: (a, b) => a.cluster.localeCompare(b.cluster), render: row => row.cluster},
  {key: 'object', title: 'What', grow: true, compare: (a, b) => a.object.localeCompare(b.object), render: row => <span class="strong">{row.object}</span>},
  {key: 'from', title: 'From → to', render: row => <span class="nowrap">{row.from || '–'} <Icon name="arrow" /> {row.to || '–'}</span>},
  {key: 'gain', title: 'Gain', numeric: true, wide: true, compare: (a, b) => (a.gain ?? 0) - (b.gain ?? 0), render: row => number(row.gain, 4)},
  {key: 'reason', title: 'Why', wide: true, grow: true, render: row => row.reason ?? ''},
];

/** A plan's moves have no time and, mostly, one cluster. */
function columnsOf(moves: MoveRow[]): Column<MoveRow>[] {
  const said = (column: Column<MoveRow>) => moves.some(move => Boolean(move[column.key as keyof MoveRow]));
  return moveColumns.filter(column => column.key === 'from' || said(column));
}

function Report({data}: {data: ReportData}) {
  const moves = (data.moves ?? []).map((move, id): MoveRow => ({...move, id}));
  return (
    <>
      <header class="top">
        <span class="brand"><Logo /><span>Evenkeel</span></span>
        <span class="note">{data.kind}</span>
        <div class="top-end"><ThemeSwitch /></div>
      </header>
      <main>
        <header class="page-head report-head">
          <div>
            <h1>{data.title}</h1>
            {data.subtitle && <p class="sub">{data.subtitle}</p>}
            {data.command && <pre class="command" tabIndex={0} aria-label="The command that makes this report">{data.command}</pre>}
          </div>
        </header>
        {(data.facts?.length ?? 0) > 0 && <dl class="facts">{data.facts!.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>}
        <div class="grid">
          {(data.frames?.length ?? 0) > 0 && <Playback frames={data.frames!} owned={Boolean(data.owners)} />}
          {data.series?.map((series, index) => (
            <Card key={index} id={`series-${index}`} title={series.title} note={series.unit}>
              {series.names ? <Bars series={series} /> : <Chart title={series.title} t={series.t} lines={series.lines} format={formatOf(series.unit)} style={series.style} height={200} />}
            </Card>
          ))}
          {data.distributions?.map((distribution, index) => (
            <Card key={index} id={`distribution-${index}`} title={distribution.title} note={distribution.unit}><DistributionPicture distribution={distribution} /></Card>
          ))}
          {data.owners && Object.keys(data.owners.clusters).length > 0 && <Card id="owners" title="Owners" note="who looked after which cluster" wide><OwnersPicture owners={data.owners} /></Card>}
          {moves.length > 0 && <Card id="moves" title="Moves" note={number(moves.length)} wide><Table label="Moves" columns={columnsOf(moves)} rows={moves} rowKey={row => String(row.id)} sortedBy="t" /></Card>}
          {data.tables?.map((table, index) => <Card key={index} id={`table-${index}`} title={table.title} wide={table.columns.length > 4}><Plain table={table} /></Card>)}
        </div>
      </main>
      <footer class="foot"><span>Made by Evenkeel{data.generated && `, ${data.generated}`}</span></footer>
    </>
  );
}

type PlainRow = {id: number; cells: (string | number | null)[]};

function Plain({table}: {table: ReportTable}) {
  const columns = table.columns.map((title, at): Column<PlainRow> => {
    const numeric = table.rows.length > 0 && table.rows.every(row => typeof row[at] === 'number' || row[at] === null);
    return {
      key: String(at), title, numeric, grow: at === 0,
      compare: (a, b) => (numeric ? Number(a.cells[at] ?? 0) - Number(b.cells[at] ?? 0) : String(a.cells[at] ?? '').localeCompare(String(b.cells[at] ?? ''), 'en', {numeric: true})),
      render: row => {
        const cell = row.cells[at];
        return typeof cell === 'number' ? cell.toLocaleString('en-US', {maximumFractionDigits: 4}) : cell ?? '–';
      },
    };
  });
  return <Table label={table.title} columns={columns} rows={table.rows.map((cells, id) => ({id, cells}))} rowKey={row => String(row.id)} />;
}

startTheme();
const text = document.getElementById('report-data')?.textContent;
if (text) {
  const data = JSON.parse(text) as ReportData;
  document.title = `${data.title} · Evenkeel`;
  render(<Report data={data} />, document.getElementById('app')!);
}
