import {useEffect, useState} from 'preact/hooks';
import {login} from '../live/session';

/** Asks for a token, and takes one from the address that the program prints. */
export function LoginForm() {
  const [token, setToken] = useState('');
  const [problem, setProblem] = useState('');
  const [busy, setBusy] = useState(false);
  const enter = async (given: string) => {
    setBusy(true);
    const {problem: said} = await login(given);
    setBusy(false);
    setProblem(said);
    // The token is not left in the address, nor in what the browser remembers.
    if (!said) location.replace(`/${location.hash}`);
  };
  useEffect(() => {
    const given = location.pathname === '/login' ? new URLSearchParams(location.search).get('token') : null;
    if (!given) return;
    history.replaceState(null, '', `/login${location.hash}`);
    void enter(given);
  }, []);
  return (
    <form class="card login" onSubmit={event => {
      event.preventDefault();
      void enter(token);
    }}>
      <h1>Log in</h1>
      <p>With the token of this dashboard, or with a token of the hub's Kubernetes API. What you may do is what the hub's roles say.</p>
      <label for="token">Token</label>
      <input id="token" name="token" type="password" autocomplete="current-password" spellcheck={false} required value={token} onInput={event => setToken(event.currentTarget.value)} />
      <p class="bad-text" role="alert">{problem}</p>
      <button type="submit" class="primary" disabled={busy || !token}>{busy ? 'Logging in …' : 'Log in'}</button>
      <p class="note"><code>evenkeel up</code> prints an address with <code>/login?token=</code>. Of <code>evenkeel run</code> the token is in the file of <code>--dashboard-token-file</code>.
        A token of Kubernetes: <code>kubectl create token NAME</code>.</p>
    </form>
  );
}
