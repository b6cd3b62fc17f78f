import {createContext} from 'preact';
import {useContext, useRef, useState} from 'preact/hooks';
import type {Right, Session} from '../live/documents';
import {carryOut, look, type Act, type Preview} from '../live/session';
import {Icon} from './icon';

/** Who looks at the page. */
export const Viewer = createContext<Session | null>(null);

export function useMay(right: Right): boolean {
  return useContext(Viewer)?.may[right] ?? false;
}

/** A button that says what would happen, and does it once that is confirmed. Those who may not see none. */
export function ActButton({act, right, label, primary, done}: {act: Act; right: Right; label: string; primary?: boolean; done?: () => void}) {
  const may = useMay(right);
  const dialog = useRef<HTMLDialogElement>(null);
  const [preview, setPreview] = useState<Preview | null>(null);
  const [problem, setProblem] = useState('');
  const [said, setSaid] = useState('');
  const [busy, setBusy] = useState(false);
  const [opened, setOpened] = useState(false);
  // What is confirmed is what was shown, whatever arrives meanwhile.
  const [shown, setShown] = useState<Act>(act);
  if (!may) return null;
  const open = async () => {
    setShown(act);
    setPreview(null);
    setProblem('');
    setSaid('');
    setOpened(true);
    dialog.current?.showModal();
    const answer = await look(act);
    setPreview(answer.value);
    setProblem(answer.problem);
  };
  const confirm = async () => {
    if (!preview) return;
    setBusy(true);
    const answer = await carryOut(shown, preview.seen);
    setBusy(false);
    setProblem(answer.problem);
    if (!answer.value) return;
    setSaid(answer.value.message);
    done?.();
    if (!/refused/.test(answer.value.message)) dialog.current?.close();
  };
  return (
    <>
      <button type="button" class={primary ? 'primary' : undefined} onClick={() => void open()}>{label}</button>
      <dialog ref={dialog} class="confirm" aria-label={label} onClose={() => setOpened(false)}>
        {opened && (
          <>
            <h2>{preview?.title ?? label}</h2>
            {!preview && !problem && <p role="status">Working out what would happen …</p>}
            {preview && (
              <ul class="effects" tabIndex={0} aria-label="What happens">
                {preview.effects.map(effect => <li key={effect}>{effect}</li>)}
              </ul>
            )}
            {preview?.warnings.map(warning => <p key={warning} class="banner warn"><Icon name="warning" /><span>{warning}</span></p>)}
            <p class="bad-text" role="alert">{problem}</p>
            {said && <p role="status">{said}</p>}
            <div class="confirm-end">
              <button type="button" onClick={() => dialog.current?.close()}>{said ? 'Close' : 'Cancel'}</button>
              {!said && <button type="button" class="primary" disabled={busy || !preview} onClick={() => void confirm()}>{busy ? 'Doing it …' : label}</button>}
            </div>
          </>
        )}
      </dialog>
    </>
  );
}
