import {render} from 'preact';
import './style/tokens.css';
import './style/base.css';
import type {FleetDocument} from './live/documents';
import {useView} from './live/stream';
import {startTheme} from './theme';

function App() {
  const {document: fleet, connection} = useView<FleetDocument>('fleet');
  if (!fleet) return <main><h1>Evenkeel</h1><p role="status">{connection}</p></main>;
  return (
    <main>
      <h1>{fleet.hub.name}</h1>
      <p role="status">{connection}</p>
      <table>
        <thead><tr><th>Cluster</th><th>Owner</th><th>Nodes</th><th>Pods</th><th>Health</th></tr></thead>
        <tbody>
          {Object.entries(fleet.clusters).map(([name, cluster]) => (
            <tr key={name}>
              <td>{name}</td><td>{cluster.owner}</td><td>{cluster.nodes.ready}/{cluster.nodes.total}</td>
              <td>{cluster.pods.running}/{cluster.pods.total}</td><td>{cluster.health}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </main>
  );
}

startTheme();
render(<App />, document.getElementById('app')!);
