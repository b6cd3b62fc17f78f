// A report's data with something of everything, for looking at the report without a simulation. The same on every run.

export function madeReport(members = 12, frames = 120) {
  const t = Array.from({length: frames}, (_, index) => index * 30);
  const wave = (index, speed, low, high) => low + (high - low) * (0.5 + 0.5 * Math.sin(index / speed));
  const names = Array.from({length: members}, (_, index) => `member-${index + 1}`);
  const node = (member, index, frame) => [Math.round(wave(frame + member * 7 + index * 3, 9, 0.1, 1.05) * 100) / 100, index === 5 && frame % 40 > 30 ? 'NotReady' : 'Ready', index % 3 ? 'general' : 'compute'];
  const cluster = (member, frame) => ({
    nodes: Object.fromEntries(Array.from({length: 8}, (_, index) => [`n${index + 1}`, node(member, index, frame)])),
    pending: frame % 30 > 24 ? member % 4 : 0,
    // For a minute nobody: in a patch, null takes the owner away.
    owner: frame >= 59 && frame <= 61 ? null : `evenkeel-${(member + (frame > 60 ? 1 : 0)) % 3}`,
  });
  const all = frame => Object.fromEntries(names.map((name, member) => [name, cluster(member, frame)]));
  return {
    kind: 'simulate', title: 'A day of a fleet', subtitle: 'morning peak, a zone outage, a rolling upgrade', generated: '2026-01-01T00:00:00Z',
    command: 'evenkeel simulate examples/day/scenario.yaml --seed 7 --report day.html', facts: [['Seed', '7'], ['Members', String(members)], ['Simulated', '1 h'], ['Checks', 'all held']],
    series: [
      {title: 'Nodes', unit: 'nodes', x: 'time', t, style: 'step', lines: [{name: 'ready', values: t.map((_, index) => Math.round(wave(index, 20, 80, 110)))}, {name: 'wanted', values: t.map((_, index) => Math.round(wave(index + 3, 20, 80, 110)))}]},
      {title: 'Pods', unit: 'pods', x: 'time', t, style: 'stack', lines: [{name: 'running', values: t.map((_, index) => Math.round(wave(index, 25, 800, 1400)))}, {name: 'pending', values: t.map((_, index) => Math.round(wave(index, 8, 0, 90)))}]},
    ],
    distributions: [{title: 'Time that pods were pending', unit: 's', values: Array.from({length: 600}, (_, index) => Math.round(-Math.log(1 - index / 601) * 300) / 10)}],
    owners: {t, clusters: Object.fromEntries(names.map((name, member) => [name, [[0, `evenkeel-${member % 3}`], [1790 + member, null], [1793 + member * 2, `evenkeel-${(member + 1) % 3}`]]]))},
    moves: Array.from({length: 80}, (_, index) => ({t: index * 40, cluster: names[index % members], object: `shop/cart-${index}`, from: 'n1', to: 'n4', reason: 'cpu 1.6 times as high', gain: 0.05 / (index + 1)})),
    tables: [{title: 'Cost', columns: ['Group', 'Node hours', 'Price'], rows: [['general', 412.5, 79.2], ['compute', 120.25, 81.77]]}],
    frames: t.map((seconds, frame) => (frame === 0 ? {t: 0, clusters: all(0)} : {t: seconds, patch: {clusters: all(frame)}})),
  };
}

/** The report's file, as the program would write it. */
export function filled(template, data) {
  const text = JSON.stringify(data).replaceAll('<', '\\u003c');
  return template.replace('<!--EVENKEEL_REPORT_DATA-->', () => `<script type="application/json" id="report-data">${text}</script>`);
}
