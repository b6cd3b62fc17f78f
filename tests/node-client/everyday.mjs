// What programs do with @kubernetes/client-node, against the cluster of $KUBECONFIG: list, watch, informer, patch. Prints a line for each step that
// went well, and ends with 1 at the first that does not.
import assert from 'node:assert/strict';
import {
  AppsV1Api, CoreV1Api, CustomObjectsApi, KubeConfig, KubernetesObjectApi, PatchStrategy, Watch, makeInformer, setHeaderOptions,
} from '@kubernetes/client-node';

const LIMIT_MS = 20_000;
const config = new KubeConfig();
config.loadFromDefault();
const core = config.makeApiClient(CoreV1Api);
const apps = config.makeApiClient(AppsV1Api);
const custom = config.makeApiClient(CustomObjectsApi);
const objects = KubernetesObjectApi.makeApiClient(config);
const namespace = `node-client-${process.pid}`;
const patchAs = (strategy) => setHeaderOptions('Content-Type', strategy);
const configMap = (name, data) => ({metadata: {name, labels: {of: 'test'}}, data});

async function within(what, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: nothing within ${LIMIT_MS / 1000} s`)), LIMIT_MS);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Collects what comes, for whoever waits for one of it. */
class Inbox {
  #items = [];
  #waiting = [];
  put(item) {
    this.#items.push(item);
    for (const look of this.#waiting.splice(0)) look();
  }
  async until(what, wanted) {
    const look = (done) => {
      const found = this.#items.find(wanted);
      if (found) done(found);
      else this.#waiting.push(() => look(done));
    };
    return within(what, new Promise(look));
  }
}

const steps = {
  async 'create and list, a page at a time'() {
    for (const name of ['a', 'b', 'c']) await core.createNamespacedConfigMap({namespace, body: configMap(name, {n: name})});
    const names = [];
    let token;
    do {
      const page = await core.listNamespacedConfigMap({namespace, labelSelector: 'of=test', limit: 2, _continue: token});
      names.push(...page.items.map((item) => item.metadata.name));
      token = page.metadata._continue;
    } while (token);
    assert.deepEqual(names, ['a', 'b', 'c']);
  },

  async 'watch from a list on'() {
    const list = await core.listNamespacedConfigMap({namespace});
    const inbox = new Inbox();
    const request = await new Watch(config).watch(
      `/api/v1/namespaces/${namespace}/configmaps`, {resourceVersion: list.metadata.resourceVersion, allowWatchBookmarks: true},
      (type, object) => inbox.put({type, name: object.metadata.name}), (error) => inbox.put({type: 'ENDED', error}));
    await core.createNamespacedConfigMap({namespace, body: configMap('watched', {})});
    await inbox.until('ADDED', (event) => event.type === 'ADDED' && event.name === 'watched');
    await core.deleteNamespacedConfigMap({namespace, name: 'watched'});
    await inbox.until('DELETED', (event) => event.type === 'DELETED' && event.name === 'watched');
    request.abort();
    await inbox.until('the end of the watch', (event) => event.type === 'ENDED');
  },

  async 'an informer hears of everything, and has it'() {
    const inbox = new Inbox();
    const informer = makeInformer(config, `/api/v1/namespaces/${namespace}/configmaps`, () => core.listNamespacedConfigMap({namespace}));
    for (const event of ['add', 'update', 'delete']) informer.on(event, (object) => inbox.put({event, object}));
    informer.on('error', (error) => inbox.put({event: 'error', error}));
    await informer.start();
    const heard = (event, name) => inbox.until(`${event} ${name}`, (item) => item.event === event && item.object.metadata.name === name);
    await heard('add', 'a');
    await core.createNamespacedConfigMap({namespace, body: configMap('informed', {})});
    await heard('add', 'informed');
    await core.patchNamespacedConfigMap({namespace, name: 'informed', body: {data: {x: '1'}}}, patchAs(PatchStrategy.MergePatch));
    await heard('update', 'informed');
    assert.equal(informer.get('informed', namespace).data.x, '1');
    await core.deleteNamespacedConfigMap({namespace, name: 'informed'});
    await heard('delete', 'informed');
    assert.equal(informer.get('informed', namespace), undefined);
    await informer.stop();
  },

  async 'all four kinds of patch'() {
    const patch = async (strategy, body, more = {}) =>
      (await core.patchNamespacedConfigMap({namespace, name: 'a', body, ...more}, patchAs(strategy))).data;
    assert.deepEqual(await patch(PatchStrategy.JsonPatch, [{op: 'add', path: '/data/json', value: '1'}]), {n: 'a', json: '1'});
    assert.deepEqual(await patch(PatchStrategy.MergePatch, {data: {json: null, merge: '2'}}), {n: 'a', merge: '2'});
    assert.deepEqual(await patch(PatchStrategy.StrategicMergePatch, {data: {strategic: '3'}}), {n: 'a', merge: '2', strategic: '3'});
    const applied = {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'a'}, data: {applied: '4'}};
    const more = {fieldManager: 'node-client', force: true};
    assert.equal((await patch(PatchStrategy.ServerSideApply, applied, more)).applied, '4');
  },

  async 'a Deployment by the client that knows no kinds'() {
    const labels = {app: 'web'};
    const deployment = {
      apiVersion: 'apps/v1', kind: 'Deployment', metadata: {name: 'web', namespace},
      spec: {replicas: 2, selector: {matchLabels: labels}, template: {metadata: {labels}, spec: {containers: [{name: 'c', image: 'nginx'}]}}},
    };
    await objects.create(deployment);
    await objects.patch({...deployment, spec: {...deployment.spec, replicas: 3}}, undefined, undefined, 'node-client', true, PatchStrategy.ServerSideApply);
    const inbox = new Inbox();
    const request = await new Watch(config).watch(`/apis/apps/v1/namespaces/${namespace}/deployments`, {},
      (_type, object) => inbox.put(object), () => {});
    await inbox.until('three ready pods', (object) => object.status?.readyReplicas === 3);
    request.abort();
    const scale = await apps.readNamespacedDeploymentScale({namespace, name: 'web'});
    assert.equal(scale.spec.replicas, 3);
    await apps.replaceNamespacedDeploymentScale({namespace, name: 'web', body: {...scale, spec: {replicas: 1}}});
  },

  async 'kinds of somebody else'() {
    const groups = await custom.listClusterCustomObject({group: 'evenkeel.dev', version: 'v1alpha1', plural: 'nodegroups'});
    assert.deepEqual(groups.items.map((group) => group.metadata.name), ['general']);
  },

  async 'errors are what the client takes them for'() {
    await assert.rejects(core.readNamespacedConfigMap({namespace, name: 'nobody'}), (error) => error.code === 404 && /not found/.test(error.body));
    const twice = core.createNamespacedConfigMap({namespace, body: configMap('b', {})});
    await assert.rejects(twice, (error) => error.code === 409);
  },
};

await core.createNamespace({body: {metadata: {name: namespace}}});
for (const [what, step] of Object.entries(steps)) {
  await step();
  console.log(`ok ${what}`);
}
await core.deleteNamespace({name: namespace});
