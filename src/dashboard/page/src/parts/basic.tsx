import type {ComponentChildren} from 'preact';
import {clockTime, relative} from '../format';
import {useNow} from './hooks';
import {Icon, type IconName} from './icon';

export function Card({title, note, actions, children, id, wide}: {
  title?: ComponentChildren; note?: ComponentChildren; actions?: ComponentChildren; children: ComponentChildren; id: string; wide?: boolean;
}) {
  return (
    <section class={wide ? 'card wide' : 'card'} aria-labelledby={title ? `${id}-title` : undefined} id={id}>
      {title && (
        <header class="card-head">
          <h2 id={`${id}-title`}>{title}</h2>
          {note && <span class="note">{note}</span>}
          {actions && <div class="actions">{actions}</div>}
        </header>
      )}
      {children}
    </section>
  );
}

/** What to say, and what to do, where there is nothing to show. */
export function Empty({title, children}: {title: string; children?: ComponentChildren}) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children && <p>{children}</p>}
    </div>
  );
}

export function Stat({label, value, note, tone}: {label: string; value: ComponentChildren; note?: ComponentChildren; tone?: Tone}) {
  return (
    <div class={`stat ${tone ?? ''}`}>
      <dt>{label}</dt>
      <dd class="stat-value">{value}</dd>
      {note !== undefined && <dd class="stat-note">{note}</dd>}
    </div>
  );
}

export type Tone = 'ok' | 'warn' | 'bad' | 'info' | 'quiet';

const icons: Record<Tone, IconName> = {ok: 'check', warn: 'warning', bad: 'cross', info: 'dots', quiet: 'dash'};

/** A state in words with a shape, so that nobody needs its colour. */
export function Badge({tone, children, title, icon}: {tone: Tone; children: ComponentChildren; title?: string; icon?: IconName}) {
  return <span class={`badge ${tone}`} title={title}><Icon name={icon ?? icons[tone]} />{children}</span>;
}

const tones: Record<string, Tone> = {
  Healthy: 'ok', Degraded: 'warn', Unreachable: 'quiet', Unowned: 'bad', Unknown: 'quiet',
  Ready: 'ok', NotReady: 'bad', Cordoned: 'warn', Deleting: 'info', Upcoming: 'info',
};

export function toneOf(state: string): Tone {
  return tones[state] ?? 'quiet';
}

export function StateBadge({state, title}: {state: string; title?: string | undefined}) {
  return <Badge tone={toneOf(state)} {...(title ? {title} : {})}>{state}</Badge>;
}

/** How long ago, with the time of day for those who point at it. */
export function Ago({time}: {time: string | null | undefined}) {
  const now = useNow();
  if (!time) return <span>–</span>;
  return <time dateTime={time} title={clockTime(time)}>{relative(time, now)}</time>;
}

/** The time of day, with how long ago for those who point at it. */
export function Since({time}: {time: string | null | undefined}) {
  const now = useNow();
  return time ? <> since <time dateTime={time} title={relative(time, now)}>{clockTime(time)}</time></> : null;
}

/** A share as a bar and in words. */
export function Meter({share, label, threshold}: {share: number | undefined; label: string; threshold?: number}) {
  if (share === undefined) return <span class="quiet">–</span>;
  const rounded = Math.round(share * 100);
  const tone = share > 1 ? 'over' : threshold !== undefined && share >= threshold ? 'high' : '';
  return (
    <span class={`meter ${tone}`} role="img" aria-label={`${label} ${rounded} %`}>
      <span class="meter-track"><span class="meter-fill" style={{width: `${Math.min(100, rounded)}%`}} /></span>
      <span class="meter-text">{rounded} %</span>
    </span>
  );
}

/** One of a few. */
export function Choice({label, options, value, onChange}: {
  label: string; options: readonly (readonly [string, string])[]; value: string; onChange: (value: string) => void;
}) {
  return (
    <fieldset class="choice">
      <legend class="unseen">{label}</legend>
      {options.map(([key, text]) => (
        <button key={key} type="button" aria-pressed={key === value} onClick={() => onChange(key)}>{text}</button>
      ))}
    </fieldset>
  );
}

/** So many stand beside each other; more are in a list. */
const fewMetrics = 6;

export function MetricChoice({metrics, value, onChange}: {metrics: string[]; value: string; onChange: (value: string) => void}) {
  if (metrics.length <= fewMetrics) return <Choice label="Metric" value={value} onChange={onChange} options={metrics.map(name => [name, name] as const)} />;
  return (
    <select aria-label="Metric" value={value} onChange={event => onChange(event.currentTarget.value)}>
      {metrics.map(name => <option key={name} value={name}>{name}</option>)}
    </select>
  );
}

export function Skeleton() {
  return (
    <div class="skeleton" role="status">
      <span class="unseen">Loading</span>
      <div /><div /><div />
    </div>
  );
}
