// A server that speaks the dashboard's protocol with a fleet that is made up: 200 members with 5,000 nodes that change all the time. It
// serves the page as it was built for the program. For measuring the page alone, and for looking at it without a fleet.
//
//   node tests/browser/played_feed.mjs [--port 8080] [--members 200] [--nodes 5000] [--dist build/page/work/dist]
import {createServer} from 'node:http';
import {existsSync, readFileSync} from 'node:fs';
import {extname, join} from 'node:path';
import {pathToFileURL} from 'node:url';
import {PlayedFleet} from './played_fleet.mjs';

const types = {'.html': 'text/html; charset=utf-8', '.js': 'text/javascript; charset=utf-8', '.css': 'text/css; charset=utf-8', '.svg': 'image/svg+xml'};
const policy = "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

function send(response, status, type, body) {
  response.writeHead(status, {'content-type': type, 'content-security-policy': policy, 'cache-control': 'no-store'});
  response.end(body);
}

function stream(fleet, view, request, response, intervalMs) {
  response.writeHead(200, {'content-type': 'text/event-stream', 'content-security-policy': policy, 'cache-control': 'no-store'});
  const say = (event, data) => response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  say('document', {view, document: fleet.document(view)});
  const patches = setInterval(() => {
    const patch = fleet.patch(view);
    if (patch) say('patch', {view, patch});
  }, intervalMs);
  const pings = setInterval(() => say('ping', {now: new Date().toISOString()}), 15_000);
  request.on('close', () => {
    clearInterval(patches);
    clearInterval(pings);
  });
}

/** Resolves to {url, fleet, close}. */
export function startPlayedFeed({dist, port = 0, members = 200, nodes = 5000, intervalMs = 250}) {
  const fleet = new PlayedFleet(members, nodes);
  const acted = [];
  // What the server is told to refuse everything with; see /played below.
  let refusal = null;
  const server = createServer((request, response) => {
    const url = new URL(request.url, 'http://127.0.0.1');
    const view = url.searchParams.get('view') ?? '';
    // For tests: /played/refuse?status=503&message=why, and without a status nothing is refused any more.
    if (url.pathname === '/played/refuse') {
      const status = Number(url.searchParams.get('status') ?? 0);
      refusal = status ? {status, message: url.searchParams.get('message') ?? ''} : null;
      return send(response, 200, 'application/json', '{}');
    }
    // For tests: a replica that is not there any more; without one, all are.
    if (url.pathname === '/played/forget') {
      fleet.forget(url.searchParams.get('replica'));
      return send(response, 200, 'application/json', '{}');
    }
    if (url.pathname.startsWith('/api/')) {
      const refused = (url.pathname !== '/api/session' || refusal?.status === 401) && (refusal ?? fleet.refusal(view));
      if (refused) return send(response, refused.status, 'application/json', JSON.stringify({message: refused.message}));
    }
    if (url.pathname === '/api/session') {
      const rights = ['logs', 'cordon', 'drain', 'scale', 'approve', 'pause', 'sessions'];
      return send(response, 200, 'application/json', JSON.stringify({user: fleet.viewer ? 'ann' : 'evenkeel:dashboard-token', may: Object.fromEntries(rights.map(right => [right, !fleet.viewer])), unknown: '', version: '0.1.0', fleet: 'played'}));
    }
    if (url.pathname === '/api/find') return send(response, 200, 'application/json', JSON.stringify(fleet.find(url.searchParams)));
    if (url.pathname === '/api/history') return send(response, 200, 'application/json', JSON.stringify(fleet.kept(url.searchParams)));
    // For tests: how the fleet is; "": busy, with a little of everything.
    if (url.pathname === '/played/mood') {
      fleet.be(url.searchParams.get('as') ?? '');
      return send(response, 200, 'application/json', '{}');
    }
    if (url.pathname === '/played/keep') {
      fleet.keeps = url.searchParams.has('on');
      return send(response, 200, 'application/json', '{}');
    }
    if (url.pathname === '/api/object') return send(response, 200, 'application/json', JSON.stringify(fleet.object(url.searchParams)));
    if (url.pathname === '/api/logs') return send(response, 200, 'application/json', JSON.stringify(fleet.logs(url.searchParams)));
    if (url.pathname === '/api/sessions' && request.method === 'GET') return send(response, 200, 'application/json', JSON.stringify({sessions: fleet.sessions()}));
    if (url.pathname === '/api/stream') return stream(fleet, view, request, response, intervalMs);
    if (url.pathname === '/api/view') return send(response, 200, 'application/json', JSON.stringify(fleet.document(view)));
    if (request.method === 'POST') {
      let body = '';
      request.on('data', part => (body += part));
      request.on('end', () => {
        if (request.headers['x-evenkeel'] !== '1') return send(response, 403, 'application/json', '{"message": "the header X-Evenkeel: 1 is missing"}');
        if (url.pathname === '/login') {
          const right = new URLSearchParams(body).get('token') === 'right';
          return send(response, right ? 200 : 401, 'application/json', JSON.stringify(right ? {user: 'ann'} : {message: 'this is neither a token of the dashboard nor one that the hub accepts: copy it once more'}));
        }
        const asked = JSON.parse(body);
        if (asked.dryRun) return send(response, 200, 'application/json', JSON.stringify(fleet.preview(asked)));
        acted.push({path: url.pathname, ...asked});
        return send(response, 200, 'application/json', JSON.stringify({message: 'done'}));
      });
      return undefined;
    }
    // For tests: what was done, and whether whoever looks may do anything.
    if (url.pathname === '/played/acted') return send(response, 200, 'application/json', JSON.stringify(acted.splice(0)));
    if (url.pathname === '/played/viewer') {
      fleet.viewer = url.searchParams.has('only');
      return send(response, 200, 'application/json', '{}');
    }
    const path = join(dist, url.pathname === '/' || url.pathname === '/login' ? 'index.html' : url.pathname);
    if (!existsSync(path) || !types[extname(path)]) return send(response, 404, 'text/plain', 'not found');
    return send(response, 200, types[extname(path)], readFileSync(path));
  });
  return new Promise(resolve => {
    server.listen(port, '127.0.0.1', () => resolve({
      url: `http://127.0.0.1:${server.address().port}`,
      fleet,
      close: () => {
        server.closeAllConnections?.();
        server.close();
      },
    }));
  });
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const options = {dist: 'build/page/work/dist', port: '8080', members: '200', nodes: '5000'};
  for (let at = 2; at + 1 < process.argv.length; at += 2) options[process.argv[at].replace(/^--/, '')] = process.argv[at + 1];
  const feed = await startPlayedFeed({dist: options.dist, port: Number(options.port), members: Number(options.members), nodes: Number(options.nodes)});
  console.log(feed.url);
}
