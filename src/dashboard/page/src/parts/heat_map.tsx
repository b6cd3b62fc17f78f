import {useMemo} from 'preact/hooks';
import {loadColor, token} from '../color';
import type {NodeState} from '../live/documents';
import type {Theme} from '../theme';
import {Picture, type Box, type Plan} from './picture';

export interface Cell {
  name: string;
  /** 0..1 and above; null where it is not known. */
  share: number | null;
  state: NodeState | string;
  words: string;
}

export interface CellGroup {
  name: string;
  cells: Cell[];
}

const labelHeight = 24;
const gap = 3;
const manyGroups = 8;
const columnWidth = 220;

/** Large where there are few, and never so small that one cannot point at it. */
function cellSize(count: number, width: number): number {
  if (count <= 60) return width < 500 ? 26 : 32;
  if (count <= 300) return 22;
  if (count <= 1500) return 14;
  return 10;
}

function hatch(context: CanvasRenderingContext2D, box: Box, color: string) {
  context.save();
  context.beginPath();
  context.rect(box.x, box.y, box.width, box.height);
  context.clip();
  context.strokeStyle = color;
  context.lineWidth = 1.5;
  context.beginPath();
  for (let x = box.x - box.height; x < box.x + box.width; x += 5) {
    context.moveTo(x, box.y + box.height);
    context.lineTo(x + box.height, box.y);
  }
  context.stroke();
  context.restore();
}

/** The state as a shape on the cell: hatched, crossed out, framed, dashed. */
function paintCell(context: CanvasRenderingContext2D, theme: Theme, cell: Cell, box: Box, colors: Record<string, string>) {
  const inset = {x: box.x + 1, y: box.y + 1, width: box.width - 2, height: box.height - 2};
  if (cell.state === 'Upcoming') {
    context.strokeStyle = colors.line!;
    context.setLineDash([3, 2]);
    context.lineWidth = 1.5;
    context.strokeRect(inset.x, inset.y, inset.width, inset.height);
    context.setLineDash([]);
    return;
  }
  context.fillStyle = cell.share === null ? colors.sunken! : loadColor(theme, cell.share);
  context.fillRect(box.x, box.y, box.width, box.height);
  if (cell.state === 'Ready') return;
  const color = cell.state === 'NotReady' ? colors.bad! : cell.state === 'Cordoned' ? colors.warn! : colors.ink!;
  if (cell.state === 'NotReady') hatch(context, box, color);
  context.strokeStyle = color;
  context.lineWidth = 2;
  context.strokeRect(inset.x, inset.y, inset.width, inset.height);
  if (cell.state === 'Deleting') {
    context.beginPath();
    context.moveTo(inset.x, inset.y);
    context.lineTo(inset.x + inset.width, inset.y + inset.height);
    context.moveTo(inset.x + inset.width, inset.y);
    context.lineTo(inset.x, inset.y + inset.height);
    context.stroke();
  }
}

function layout(groups: CellGroup[], width: number): Plan {
  const count = groups.reduce((sum, group) => sum + group.cells.length, 0);
  const size = cellSize(count, width);
  // Few groups have the whole width each; many stand beside each other.
  const columns = groups.length > manyGroups ? Math.max(1, Math.floor(width / columnWidth)) : 1;
  const pitch = width / columns;
  const perRow = Math.max(1, Math.floor((pitch - (columns > 1 ? 16 : 0) + gap) / (size + gap)));
  const boxes: Box[] = [];
  const labels: {text: string; x: number; y: number}[] = [];
  let y = 0;
  for (let first = 0; first < groups.length; first += columns) {
    let rows = 0;
    groups.slice(first, first + columns).forEach((group, column) => {
      const left = column * pitch;
      labels.push({text: `${group.name}  ${group.cells.length}`, x: left, y: y + 14});
      group.cells.forEach((_, index) => {
        boxes.push({x: left + (index % perRow) * (size + gap), y: y + labelHeight + Math.floor(index / perRow) * (size + gap), width: size, height: size});
      });
      rows = Math.max(rows, Math.ceil(group.cells.length / perRow));
    });
    y += labelHeight + rows * (size + gap) + 8;
  }
  const cells = groups.flatMap(group => group.cells);
  return {
    height: Math.max(y, size),
    boxes,
    paint: (context, theme) => {
      const colors = {ink: token('ink'), line: token('line-strong'), sunken: token('sunken'), bad: token('bad-mark'), warn: token('warn-mark')};
      context.fillStyle = token('ink-2');
      context.font = `600 12px ${token('font')}`;
      for (const label of labels) context.fillText(label.text, label.x, label.y, pitch - 8);
      cells.forEach((cell, index) => paintCell(context, theme, cell, boxes[index]!, colors));
    },
  };
}

/** Nodes by load, in groups. `selected` is a cell's name. */
export function HeatMap({label, groups, selected, onSelect}: {
  label: string; groups: CellGroup[]; selected: string | null; onSelect: (name: string) => void;
}) {
  const cells = useMemo(() => groups.flatMap(group => group.cells), [groups]);
  const index = selected === null ? -1 : cells.findIndex(cell => cell.name === selected);
  return (
    <Picture
      label={label} plan={width => layout(groups, width)} describe={at => cells[at]?.words ?? ''}
      selected={index < 0 ? null : index} onSelect={at => cells[at] && onSelect(cells[at].name)}
    />
  );
}

/** What the colours and shapes of a heat map say. */
export function HeatLegend({metric}: {metric: string}) {
  return (
    <p class="heat-legend">
      <span class="scale">{metric} 0 %<span class="scale-bar" aria-hidden="true" />100 %</span>
      <span class="key key-over">over 100 %</span>
      <span class="key key-notready">not ready</span>
      <span class="key key-cordoned">cordoned</span>
      <span class="key key-deleting">being removed</span>
      <span class="key key-upcoming">upcoming</span>
    </p>
  );
}
