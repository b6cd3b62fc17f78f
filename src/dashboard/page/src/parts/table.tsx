import type {ComponentChildren} from 'preact';
import {memo} from 'preact/compat';
import {useMemo, useState} from 'preact/hooks';
import {useParam} from '../route';
import {Icon} from './icon';

export interface Column<T> {
  key: string;
  title: string;
  render: (row: T) => ComponentChildren;
  /** Where it is given, the column can be sorted by. */
  compare?: (a: T, b: T) => number;
  numeric?: boolean;
  /** Left out on narrow screens: what is beside the point there. */
  wide?: boolean;
  /** Takes the room that the others leave. */
  grow?: boolean;
}

interface Props<T> {
  label: string;
  columns: Column<T>[];
  rows: T[];
  rowKey: (row: T) => string;
  pageSize?: number;
  /** The column that the rows are sorted by at first; "-key" for the reverse order. Without it, they stay as they are. */
  sortedBy?: string;
  /** By this name the address holds the order, so that it can be sent to somebody. */
  param?: string;
  /** More about a row, shown beneath it once it is opened. */
  detail?: (row: T) => ComponentChildren;
  empty?: ComponentChildren;
}

function sorted<T>(rows: T[], columns: Column<T>[], order: string): T[] {
  const compare = columns.find(column => column.key === order.replace(/^-/, ''))?.compare;
  if (!compare) return rows;
  const sign = order.startsWith('-') ? -1 : 1;
  return [...rows].sort((a, b) => sign * compare(a, b));
}

interface RowProps<T> {
  row: T;
  columns: Column<T>[];
  id: string;
  open: boolean;
  toggle: ((key: string) => void) | undefined;
  detail: ((row: T) => ComponentChildren) | undefined;
}

/** Drawn again only where its row is another one: patches leave the rows that they do not name as they were. */
const Row = memo(function Row<T>({row, columns, id, open, toggle, detail}: RowProps<T>) {
  return (
    <>
      <tr class={open ? 'open' : undefined}>
        {detail && (
          <td class="opener">
            <button type="button" aria-expanded={open} aria-label={`Details of ${id}`} onClick={() => toggle?.(id)}><Icon name="chevron" /></button>
          </td>
        )}
        {columns.map(column => (
          <td key={column.key} class={cell(column)}>{column.render(row)}</td>
        ))}
      </tr>
      {open && detail && <tr class="detail"><td colSpan={columns.length + 1}>{detail(row)}</td></tr>}
    </>
  );
}) as <T>(props: RowProps<T>) => preact.JSX.Element;

function cell<T>(column: Column<T>): string {
  return [column.numeric && 'numeric', column.wide && 'wide-only', column.grow && 'grow'].filter(Boolean).join(' ');
}

/** A table that draws one page of its rows, so that thousands of them cost nothing; a page is not scrolled within the page. */
export function Table<T>({label, columns, rows, rowKey, pageSize = 25, sortedBy = '', param, detail, empty}: Props<T>) {
  const [own, setOwn] = useState(sortedBy);
  const [given, give] = useParam(param ?? '', sortedBy);
  const [order, setOrder] = param ? [given, give] : [own, setOwn];
  const [page, setPage] = useState(0);
  const [open, setOpen] = useState<string | null>(null);
  const inOrder = useMemo(() => sorted(rows, columns, order), [rows, columns, order]);
  const toggle = useMemo(() => (key: string) => setOpen(was => (was === key ? null : key)), []);
  if (rows.length === 0 && empty) return <>{empty}</>;
  const pageCount = Math.max(1, Math.ceil(rows.length / pageSize));
  const here = Math.min(page, pageCount - 1);
  const shown = inOrder.slice(here * pageSize, (here + 1) * pageSize);
  return (
    <div class="table-box">
      <div class="table-scroll" role="region" aria-label={label} tabIndex={0}>
        <table>
          <caption class="unseen">{label}</caption>
          <thead>
            <tr>
              {detail && <th class="opener"><span class="unseen">Details</span></th>}
              {columns.map(column => <Head key={column.key} column={column} order={order} setOrder={setOrder} />)}
            </tr>
          </thead>
          <tbody>
            {shown.map(row => {
              const id = rowKey(row);
              return <Row key={id} id={id} row={row} columns={columns} open={open === id} toggle={toggle} detail={detail} />;
            })}
          </tbody>
        </table>
      </div>
      {pageCount > 1 && <Pager page={here} pageCount={pageCount} pageSize={pageSize} total={rows.length} setPage={setPage} label={label} />}
    </div>
  );
}

function Head<T>({column, order, setOrder}: {column: Column<T>; order: string; setOrder: (order: string) => void}) {
  const direction = order === column.key ? 'ascending' : order === `-${column.key}` ? 'descending' : undefined;
  return (
    <th scope="col" class={cell(column)} {...(direction ? {'aria-sort': direction} : {})}>
      {column.compare
        ? (
          <button type="button" class={`sort ${direction ?? ''}`} onClick={() => setOrder(direction === 'ascending' ? `-${column.key}` : column.key)}>
            {column.title}<Icon name="sort" />
          </button>
        )
        : column.title}
    </th>
  );
}

function Pager({page, pageCount, pageSize, total, setPage, label}: {
  page: number; pageCount: number; pageSize: number; total: number; setPage: (page: number) => void; label: string;
}) {
  return (
    <nav class="pager" aria-label={`Pages of: ${label}`}>
      <button type="button" disabled={page === 0} onClick={() => setPage(page - 1)}>Previous</button>
      <span aria-live="polite">
        {(page * pageSize + 1).toLocaleString('en-US')}–{Math.min(total, (page + 1) * pageSize).toLocaleString('en-US')} of {total.toLocaleString('en-US')}
      </span>
      <button type="button" disabled={page === pageCount - 1} onClick={() => setPage(page + 1)}>Next</button>
    </nav>
  );
}
