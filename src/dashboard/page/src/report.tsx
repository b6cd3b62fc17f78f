import {render} from 'preact';
import './style/tokens.css';
import './style/base.css';
import type {ReportData} from './report/data';
import {startTheme} from './theme';

function Report({data}: {data: ReportData}) {
  return (
    <main>
      <h1>{data.title}</h1>
      <p>{data.subtitle}</p>
      <dl>{data.facts?.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>
      {data.tables?.map(table => (
        <section key={table.title}>
          <h2>{table.title}</h2>
          <table>
            <thead><tr>{table.columns.map(column => <th key={column}>{column}</th>)}</tr></thead>
            <tbody>{table.rows.map((row, index) => <tr key={index}>{row.map((cell, at) => <td key={at}>{cell}</td>)}</tr>)}</tbody>
          </table>
        </section>
      ))}
    </main>
  );
}

startTheme();
const data = JSON.parse(document.getElementById('report-data')!.textContent!) as ReportData;
document.title = data.title;
render(<Report data={data} />, document.getElementById('app')!);
