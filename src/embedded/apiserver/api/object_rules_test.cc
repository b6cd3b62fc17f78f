// Rules for objects of built-in kinds, one case each. docs/OBJECT_RULES.md has the same table, which
// tests/e2e/documentation_test.py compares with this one.
#include "embedded/apiserver/api/api_testing.h"

namespace evenkeel::embedded::apiserver::object_rules_test {
namespace {

using base::Json;

struct Rule {
  std::string test, rule, kind;
  std::string change;        ///< of a good object, a merge patch; of its container where kind is "container"
  std::string then;          ///< a merge patch of what was created so; empty: already that is refused
  std::string field, cause;  ///< a part of the cause's message
};

void PrintTo(const Rule& rule, std::ostream* out) { *out << rule.change << " " << rule.then; }

/// Where its objects are, and one of them that is good.
std::pair<std::string, std::string> GoodOne(const std::string& kind) {
  // clang-format off
  static const std::string kPod = R"j("spec":{"containers":[{"name":"c","image":"x"}]})j";
  static const std::string kWorkload = R"j({"metadata":{"name":"o"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},)j" + kPod + "}}}";
  static const std::string kJob = R"j({"template":{"spec":{"restartPolicy":"OnFailure","containers":[{"name":"c","image":"x"}]}}})j";
  static const std::string kDevices = R"j({"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"c"}}]}})j";
  static const std::map<std::string, std::pair<std::string, std::string>> kKinds = {
      {"container", {"/api/v1/namespaces/default/pods", R"j({"metadata":{"name":"o"},)j" + kPod + "}"}},
      {"pods", {"/api/v1/namespaces/default/pods", R"j({"metadata":{"name":"o"},)j" + kPod + "}"}},
      {"services", {"/api/v1/namespaces/default/services", R"j({"metadata":{"name":"o"},"spec":{"ports":[{"port":80}]}})j"}},
      {"endpoints", {"/api/v1/namespaces/default/endpoints", R"j({"metadata":{"name":"o"}})j"}},
      {"deployments", {"/apis/apps/v1/namespaces/default/deployments", kWorkload}},
      {"statefulsets", {"/apis/apps/v1/namespaces/default/statefulsets", kWorkload}},
      {"replicationcontrollers", {"/api/v1/namespaces/default/replicationcontrollers", R"j({"metadata":{"name":"o"},"spec":{"selector":{"a":"b"},"template":{"metadata":{"labels":{"a":"b"}},)j" + kPod + "}}}"}},
      {"jobs", {"/apis/batch/v1/namespaces/default/jobs", R"j({"metadata":{"name":"o"},"spec":)j" + kJob + "}"}},
      {"cronjobs", {"/apis/batch/v1/namespaces/default/cronjobs", R"j({"metadata":{"name":"o"},"spec":{"schedule":"* * * * *","jobTemplate":{"spec":)j" + kJob + "}}}"}},
      {"poddisruptionbudgets", {"/apis/policy/v1/namespaces/default/poddisruptionbudgets", R"j({"metadata":{"name":"o"},"spec":{"selector":{"matchLabels":{"a":"b"}}}})j"}},
      {"horizontalpodautoscalers", {"/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers", R"j({"metadata":{"name":"o"},"spec":{"scaleTargetRef":{"kind":"Deployment","name":"d"},"maxReplicas":9}})j"}},
      {"ingresses", {"/apis/networking.k8s.io/v1/namespaces/default/ingresses", R"j({"metadata":{"name":"o"},"spec":{"defaultBackend":{"service":{"name":"s","port":{"number":80}}}}})j"}},
      {"secrets", {"/api/v1/namespaces/default/secrets", R"j({"metadata":{"name":"o"}})j"}},
      {"configmaps", {"/api/v1/namespaces/default/configmaps", R"j({"metadata":{"name":"o"}})j"}},
      {"serviceaccounts", {"/api/v1/namespaces/default/serviceaccounts", R"j({"metadata":{"name":"o"}})j"}},
      {"persistentvolumeclaims", {"/api/v1/namespaces/default/persistentvolumeclaims", R"j({"metadata":{"name":"o"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}})j"}},
      {"persistentvolumes", {"/api/v1/persistentvolumes", R"j({"metadata":{"name":"o"},"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"},"hostPath":{"path":"/a"}}})j"}},
      {"storageclasses", {"/apis/storage.k8s.io/v1/storageclasses", R"j({"metadata":{"name":"o"},"provisioner":"a/b"})j"}},
      {"resourceclaims", {"/apis/resource.k8s.io/v1/namespaces/default/resourceclaims", R"j({"metadata":{"name":"o"},"spec":)j" + kDevices + "}"}},
      {"resourceclaimtemplates", {"/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates", R"j({"metadata":{"name":"o"},"spec":{"spec":)j" + kDevices + "}}"}},
      {"resourceslices", {"/apis/resource.k8s.io/v1/resourceslices", R"j({"metadata":{"name":"o"},"spec":{"driver":"d.org","pool":{"name":"n","generation":1,"resourceSliceCount":1},"nodeName":"n","devices":[{"name":"a"}]}})j"}},
      {"deviceclasses", {"/apis/resource.k8s.io/v1/deviceclasses", R"j({"metadata":{"name":"o"},"spec":{}})j"}},
      {"priorityclasses", {"/apis/scheduling.k8s.io/v1/priorityclasses", R"j({"metadata":{"name":"o"},"value":5})j"}},
  };
  // clang-format on
  return kKinds.at(kind);
}

class ObjectRuleTest : public ApiFixture, public ::testing::WithParamInterface<Rule> {};

TEST_P(ObjectRuleTest, IsEnforced) {
  const Rule& rule = GetParam();
  const auto [path, good] = GoodOne(rule.kind);
  Json object = ParseOrFail(good);
  Json& changed = rule.kind == "container" ? base::Find(object, {"spec", "containers"})->at(0) : object;
  base::ApplyMergePatch(changed, ParseOrFail(rule.change));
  TestReply reply = Send("POST", path, base::ToText(object));
  if (!rule.then.empty()) {
    ASSERT_EQ(reply.status, 201) << reply.body;
    reply = Patch(path + "/o", "application/merge-patch+json", rule.then);
  }
  EXPECT_EQ(reply.status, 422) << reply.body;
  const Json answer = reply.json();
  const base::JsonArray& causes = base::FindArray(answer, {"details", "causes"});
  const bool found = std::ranges::any_of(causes, [&](const Json& cause) {
    return base::FindString(cause, {"field"}) == rule.field && base::FindString(cause, {"message"}).contains(rule.cause);
  });
  EXPECT_TRUE(found) << base::ToText(causes);
}

// clang-format off
const std::vector<Rule> kRules = {
    {"HostPortsDiffer", "containers of a pod have different ports of the host", "container",
     R"j({"ports":[{"containerPort":80,"hostPort":8080},{"containerPort":81,"hostPort":8080}]})j", "",
     "spec.containers[0].ports[1].hostPort", R"j(Duplicate value: "TCP//8080")j"},
    {"HostNetworkPortsMatch", "on the host's network a port is the host's", "pods",
     R"j({"spec":{"hostNetwork":true,"containers":[{"name":"c","image":"x","ports":[{"containerPort":80,"hostPort":81}]}]}})j", "",
     "spec.containers[0].ports[0].hostPort", R"j(Invalid value: 81: must match `containerPort` when `hostNetwork` is true)j"},
    {"ResourcesHaveNames", "a resource without a domain is one of Kubernetes'", "container",
     R"j({"resources":{"limits":{"foo":"1"}}})j", "",
     "spec.containers[0].resources.limits[foo]", R"j(Invalid value: "foo": must be a standard resource for containers)j"},
    {"DevicesHaveDomains", "a resource with a domain has one that quotas can name", "container",
     R"j({"resources":{"limits":{"requests.a.org/b":"1"}}})j", "",
     "spec.containers[0].resources.limits[requests.a.org/b]", R"j(Invalid value: "requests.a.org/b": doesn't follow extended resource name standard)j"},
    {"DevicesAreWhole", "devices come in whole numbers", "container",
     R"j({"resources":{"limits":{"a.org/b":"1500m"}}})j", "",
     "spec.containers[0].resources.limits[a.org/b]", R"j(Invalid value: "1500m": must be an integer)j"},
    {"DevicesHaveLimits", "devices are not overcommitted: they have a limit", "container",
     R"j({"resources":{"requests":{"a.org/b":"1"}}})j", "",
     "spec.containers[0].resources.limits", R"j(Required value: Limit must be set for non overcommitable resources)j"},
    {"DevicesAreTheirLimit", "devices are not overcommitted: the request is the limit", "container",
     R"j({"resources":{"requests":{"a.org/b":"1"},"limits":{"a.org/b":"2"}}})j", "",
     "spec.containers[0].resources.requests", R"j(Invalid value: "1": must be equal to a.org/b limit of 2)j"},
    {"HugePagesNeedMore", "huge pages come with cpu or memory", "container",
     R"j({"resources":{"limits":{"hugepages-2Mi":"2Mi"}}})j", "",
     "spec.containers[0].resources", R"j(Forbidden: HugePages require cpu or memory)j"},
    {"HugePagesAreWhole", "huge pages come in multiples of their size", "container",
     R"j({"resources":{"limits":{"cpu":"1","hugepages-2Mi":"3Mi"}}})j", "",
     "spec.containers[0].resources.limits[hugepages-2Mi]", R"j(Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi)j"},
    {"RequestsFitLimits", "a request is at most the limit", "container",
     R"j({"resources":{"requests":{"cpu":"2"},"limits":{"cpu":"1"}}})j", "",
     "spec.containers[0].resources.requests", R"j(Invalid value: "2": must be less than or equal to cpu limit of 1)j"},
    {"UsersAreNumbers", "runAsUser and the like are from 0 to 2^31-1", "container",
     R"j({"securityContext":{"runAsUser":-1}})j", "",
     "spec.containers[0].securityContext.runAsUser", R"j(Invalid value: -1: must be between 0 and 2147483647, inclusive)j"},
    {"GroupsAreNumbers", "likewise of a pod's groups", "pods",
     R"j({"spec":{"securityContext":{"supplementalGroups":[-1]}}})j", "",
     "spec.securityContext.supplementalGroups[0]", R"j(Invalid value: -1: must be between 0 and 2147483647, inclusive)j"},
    {"PrivilegedMayEscalate", "what is privileged may escalate", "container",
     R"j({"securityContext":{"privileged":true,"allowPrivilegeEscalation":false}})j", "",
     "spec.containers[0].securityContext", R"j(cannot set `allowPrivilegeEscalation` to false and `privileged` to true)j"},
    {"LocalProfilesAreNamed", "a local seccomp profile has a name", "container",
     R"j({"securityContext":{"seccompProfile":{"type":"Localhost"}}})j", "",
     "spec.containers[0].securityContext.seccompProfile.localhostProfile", R"j(Required value: must be set when seccomp type is Localhost)j"},
    {"SysctlsAreNames", "sysctls have names of sysctls", "pods",
     R"j({"spec":{"securityContext":{"sysctls":[{"name":"a b","value":"1"}]}}})j", "",
     "spec.securityContext.sysctls[0].name", R"j(Invalid value: "a b": must have at most 253 characters and match regex)j"},
    {"SysctlsDiffer", "no sysctl comes twice", "pods",
     R"j({"spec":{"securityContext":{"sysctls":[{"name":"a.b","value":"1"},{"name":"a.b","value":"2"}]}}})j", "",
     "spec.securityContext.sysctls[1].name", R"j(Duplicate value: "a.b")j"},
    {"ProcessesAreSharedOnce", "processes are shared with the host or within the pod", "pods",
     R"j({"spec":{"shareProcessNamespace":true,"hostPID":true}})j", "",
     "spec.securityContext.shareProcessNamespace", R"j(Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled)j"},
    {"GatesAreNames", "readiness gates are names", "pods",
     R"j({"spec":{"readinessGates":[{"conditionType":"a b"}]}})j", "",
     "spec.readinessGates[0].conditionType", R"j(Invalid value: "a b": name part must consist of alphanumeric characters)j"},
    {"ProbesHaveNoNegatives", "numbers of probes are not negative", "container",
     R"j({"livenessProbe":{"exec":{"command":["a"]},"periodSeconds":-1}})j", "",
     "spec.containers[0].livenessProbe.periodSeconds", R"j(Invalid value: -1: must be greater than or equal to 0)j"},
    {"ProbesHaveTime", "the time that a probe gives is positive", "container",
     R"j({"livenessProbe":{"exec":{"command":["a"]},"terminationGracePeriodSeconds":0}})j", "",
     "spec.containers[0].livenessProbe.terminationGracePeriodSeconds", R"j(Invalid value: 0: must be greater than 0)j"},
    {"ReadinessEndsNothing", "a readiness probe ends nothing", "container",
     R"j({"readinessProbe":{"exec":{"command":["a"]},"terminationGracePeriodSeconds":5}})j", "",
     "spec.containers[0].readinessProbe.terminationGracePeriodSeconds", R"j(Invalid value: 5: must not be set for readinessProbes)j"},
    {"HeadersAreNames", "headers of probes have names of headers", "container",
     R"j({"livenessProbe":{"httpGet":{"port":80,"httpHeaders":[{"name":"a b","value":"x"}]}}})j", "",
     "spec.containers[0].livenessProbe.httpGet.httpHeaders", R"j(Invalid value: "a b": a valid HTTP header must consist of alphanumeric characters)j"},
    {"SleepsAreShort", "a hook sleeps no longer than the pod may end", "container",
     R"j({"lifecycle":{"preStop":{"sleep":{"seconds":31}}}})j", "",
     "spec.containers[0].lifecycle.preStop.sleep", R"j(Invalid value: 31: must be non-negative and less than terminationGracePeriodSeconds (30))j"},
    {"InitContainersEnd", "what is to end has no probes", "pods",
     R"j({"spec":{"initContainers":[{"name":"i","image":"x","livenessProbe":{"exec":{"command":["a"]}}}]}})j", "",
     "spec.initContainers[0].livenessProbe", R"j(Forbidden: may not be set for init containers without restartPolicy=Always)j"},
    {"VariablesArePrintable", "names of variables are printable and without =", "container",
     R"j({"env":[{"name":"a=b"}]})j", "",
     "spec.containers[0].env[0].name", R"j(Invalid value: "a=b": a valid environment variable name must consist only of printable ASCII characters other than '=')j"},
    {"VariablesTakeKnownFields", "a variable takes a field that it may", "container",
     R"j({"env":[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"status.phase"}}}]})j", "",
     "spec.containers[0].env[0].valueFrom.fieldRef.fieldPath", R"j(Unsupported value: "status.phase": supported values: "metadata.name")j"},
    {"VariablesTakeKnownResources", "likewise a resource", "container",
     R"j({"env":[{"name":"A","valueFrom":{"resourceFieldRef":{"resource":"limits.foo"}}}]})j", "",
     "spec.containers[0].env[0].valueFrom.resourceFieldRef.resource", R"j(Unsupported value: "limits.foo": supported values: "limits.cpu")j"},
    {"DivisorsFit", "a divisor is a unit of its resource", "container",
     R"j({"env":[{"name":"A","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu","divisor":"3"}}}]})j", "",
     "spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor", R"j(Invalid value: "limits.cpu": only divisor's values 1m and 1 are supported with the cpu resource)j"},
    {"VariablesNameObjects", "a variable's ConfigMap or Secret is named", "container",
     R"j({"env":[{"name":"A","valueFrom":{"configMapKeyRef":{"key":"k"}}}]})j", "",
     "spec.containers[0].env[0].valueFrom.configMapKeyRef.name", R"j(Invalid value: "": a lowercase RFC 1123 subdomain)j"},
    {"EnvironmentsComeFromOne", "envFrom names one source", "container",
     R"j({"envFrom":[{"prefix":"A"}]})j", "",
     "spec.containers[0].envFrom", R"j(Invalid value: "": must specify one of: `configMapRef` or `secretRef`)j"},
    {"MountsAreOfVolumes", "a mount names a volume", "container",
     R"j({"volumeMounts":[{"name":"v","mountPath":"/a"}]})j", "",
     "spec.containers[0].volumeMounts[0].name", R"j(Not found: "v")j"},
    {"MountsDiffer", "no path is mounted twice", "pods",
     R"j({"spec":{"containers":[{"name":"c","image":"x","volumeMounts":[{"name":"v","mountPath":"/a"},{"name":"v","mountPath":"/a"}]}],"volumes":[{"name":"v","emptyDir":{}}]}})j", "",
     "spec.containers[0].volumeMounts[1].mountPath", R"j(Invalid value: "/a": must be unique)j"},
    {"SubPathsAreOne", "a mount has one sub-path", "pods",
     R"j({"spec":{"containers":[{"name":"c","image":"x","volumeMounts":[{"name":"v","mountPath":"/a","subPath":"b","subPathExpr":"c"}]}],"volumes":[{"name":"v","emptyDir":{}}]}})j", "",
     "spec.containers[0].volumeMounts[0].subPathExpr", R"j(Invalid value: "c": subPathExpr and subPath are mutually exclusive)j"},
    {"SharedMountsArePrivileged", "only what is privileged mounts both ways", "pods",
     R"j({"spec":{"containers":[{"name":"c","image":"x","volumeMounts":[{"name":"v","mountPath":"/a","mountPropagation":"Bidirectional"}]}],"volumes":[{"name":"v","emptyDir":{}}]}})j", "",
     "spec.containers[0].volumeMounts.mountPropagation", R"j(Forbidden: Bidirectional mount propagation is available only to privileged containers)j"},
    {"BlocksAreOfClaims", "block devices are claims", "pods",
     R"j({"spec":{"containers":[{"name":"c","image":"x","volumeDevices":[{"name":"v","devicePath":"/a"}]}],"volumes":[{"name":"v","emptyDir":{}}]}})j", "",
     "spec.containers[0].volumeDevices[0].name", R"j(Invalid value: "v": can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode)j"},
    {"VolumesDiffer", "no volume comes twice", "pods",
     R"j({"spec":{"volumes":[{"name":"v","emptyDir":{}},{"name":"v","emptyDir":{}}]}})j", "",
     "spec.volumes[1].name", R"j(Duplicate value: "v")j"},
    {"ModesAreOctal", "modes of files are from 0 to 0777", "pods",
     R"j({"spec":{"volumes":[{"name":"v","configMap":{"name":"a","defaultMode":512}}]}})j", "",
     "spec.volumes[0].configMap.defaultMode", R"j(Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive)j"},
    {"HostPathsHaveKnownTypes", "a directory of the host has a known type", "pods",
     R"j({"spec":{"volumes":[{"name":"v","hostPath":{"path":"/a","type":"Foo"}}]}})j", "",
     "spec.volumes[0].hostPath.type", R"j(Unsupported value: "Foo": supported values: "", "BlockDevice")j"},
    {"FilesOfPodsSayWhatOf", "a file about the pod says about what", "pods",
     R"j({"spec":{"volumes":[{"name":"v","downwardAPI":{"items":[{"path":"a"}]}}]}})j", "",
     "spec.volumes[0].downwardAPI", R"j(Required value: one of fieldRef and resourceFieldRef is required)j"},
    {"ProjectedPathsDiffer", "what is projected into one volume does not meet", "pods",
     R"j({"spec":{"volumes":[{"name":"v","projected":{"sources":[{"configMap":{"name":"a","items":[{"key":"k","path":"x"}]}},{"secret":{"name":"b","items":[{"key":"k","path":"x"}]}}]}}]}})j", "",
     "spec.volumes[0].projected", R"j(Invalid value: "b": conflicting duplicate paths)j"},
    {"TokensLastAWhile", "tokens live ten minutes or longer", "pods",
     R"j({"spec":{"volumes":[{"name":"v","projected":{"sources":[{"serviceAccountToken":{"path":"t","expirationSeconds":5}}]}}]}})j", "",
     "spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds", R"j(Invalid value: 5: may not specify a duration less than 10 minutes)j"},
    {"ContainersAreLabels", "names of containers are DNS labels", "container",
     R"j({"name":"A_b"})j", "",
     "spec.containers[0].name", R"j(Invalid value: "A_b": a lowercase RFC 1123 label)j"},
    {"ContainersDiffer", "no container comes twice", "pods",
     R"j({"spec":{"initContainers":[{"name":"c","image":"x"}]}})j", "",
     "spec.initContainers[0].name", R"j(Duplicate value: "c")j"},
    {"NameServersAreAddresses", "name servers are addresses", "pods",
     R"j({"spec":{"dnsConfig":{"nameservers":["x"]}}})j", "",
     "spec.dnsConfig.nameservers[0]", R"j(Invalid value: "x": must be a valid IP address)j"},
    {"NodesAreSelectedWithValues", "In and NotIn have values", "pods",
     R"j({"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"In"}]}]}}}}})j", "",
     "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values", R"j(Required value: must be specified when `operator` is 'In' or 'NotIn')j"},
    {"FieldsOfNodesAreNames", "of a node's fields the name can be selected", "pods",
     R"j({"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchFields":[{"key":"a","operator":"In","values":["b"]}]}]}}}}})j", "",
     "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].key", R"j(Invalid value: "a": not a valid field selector key)j"},
    {"TopologiesAreLabels", "a topology is a label", "pods",
     R"j({"spec":{"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"a b"}]}}}})j", "",
     "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey", R"j(Invalid value: "a b": name part must consist of)j"},
    {"PodsKeepTheirSpec", "of a pod little can be changed", "pods",
     R"j({})j", R"j({"spec":{"hostname":"h"}})j",
     "spec", R"j(Forbidden: pod updates may not change fields other than)j"},
    {"TrafficComesFromOutside", "externalTrafficPolicy belongs to services that are reached from outside", "services",
     R"j({"spec":{"externalTrafficPolicy":"Local"}})j", "",
     "spec.externalTrafficPolicy", R"j(Invalid value: "Local": may only be set for externally-accessible services)j"},
    {"HealthChecksAreOfBalancers", "a port for health checks belongs to balancers with local traffic", "services",
     R"j({"spec":{"healthCheckNodePort":31000}})j", "",
     "spec.healthCheckNodePort", R"j(Invalid value: 31000: may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local')j"},
    {"SeveralPortsAreNamed", "several ports have names", "services",
     R"j({"spec":{"ports":[{"port":80},{"port":81}]}})j", "",
     "spec.ports[0].name", R"j(Required value)j"},
    {"PortsDiffer", "no port comes twice", "services",
     R"j({"spec":{"ports":[{"port":80,"name":"a"},{"port":80,"name":"b"}]}})j", "",
     "spec.ports[1]", R"j(Duplicate value: {"protocol":"TCP","port":80})j"},
    {"NodePortsAreInRange", "ports of nodes are in their range", "services",
     R"j({"spec":{"type":"NodePort","ports":[{"port":80,"nodePort":80}]}})j", "",
     "spec.ports[0].nodePort", R"j(Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767)j"},
    {"NodePortsDiffer", "no port of nodes comes twice", "services",
     R"j({"spec":{"type":"NodePort","ports":[{"port":80,"name":"a","nodePort":30100},{"port":81,"name":"b","nodePort":30100}]}})j", "",
     "spec.ports[1].nodePort", R"j(Duplicate value: 30100)j"},
    {"ProtocolsOfApplicationsAreNames", "appProtocol is a name", "services",
     R"j({"spec":{"ports":[{"port":80,"appProtocol":"a b"}]}})j", "",
     "spec.ports[0].appProtocol", R"j(Invalid value: "a b": name part must consist of)j"},
    {"NamesHaveNoAddress", "a service that is a name has no address", "services",
     R"j({"spec":{"type":"ExternalName","externalName":"a.b","clusterIP":"10.96.0.9"}})j", "",
     "spec.clusterIPs", R"j(Forbidden: may not be set for ExternalName services)j"},
    {"OutsideAddressesAreReachable", "addresses outside can be reached", "services",
     R"j({"spec":{"externalIPs":["169.254.1.1"]}})j", "",
     "spec.externalIPs[0]", R"j(Invalid value: "169.254.1.1": may not be in the link-local range)j"},
    {"BalancersHaveClasses", "loadBalancerClass belongs to balancers", "services",
     R"j({"spec":{"loadBalancerClass":"a/b"}})j", "",
     "spec.loadBalancerClass", R"j(Forbidden: may only be used when `type` is 'LoadBalancer')j"},
    {"BalancersKeepTheirClass", "a balancer keeps its class", "services",
     R"j({"spec":{"type":"LoadBalancer"}})j", R"j({"spec":{"loadBalancerClass":"a/b"}})j",
     "spec.loadBalancerClass", R"j(Invalid value: "a/b": may not change once set)j"},
    {"SourcesAreRanges", "who may come to a balancer is a range", "services",
     R"j({"spec":{"type":"LoadBalancer","loadBalancerSourceRanges":["1.2.3.4"]}})j", "",
     "spec.LoadBalancerSourceRanges[0]", R"j(Invalid value: "1.2.3.4": must be a valid CIDR value)j"},
    {"AddressesStay", "a service keeps its address", "services",
     R"j({})j", R"j({"spec":{"clusterIP":"10.96.0.99"}})j",
     "spec.clusterIPs[0]", R"j(Invalid value: "10.96.0.99": may not change once set)j"},
    {"EndpointsHaveAddresses", "a subset has addresses", "endpoints",
     R"j({"subsets":[{"ports":[{"port":80}]}]})j", "",
     "subsets[0]", R"j(Required value: must specify `addresses` or `notReadyAddresses`)j"},
    {"EndpointsAreReachable", "endpoints can be reached, or listen on the machine itself", "endpoints",
     R"j({"subsets":[{"addresses":[{"ip":"169.254.1.1"}]}]})j", "",
     "subsets[0].addresses[0].ip", R"j(Invalid value: "169.254.1.1": may not be in the link-local range)j"},
    {"TemplatesHaveGoodLabels", "labels of templates are labels", "deployments",
     R"j({"spec":{"template":{"metadata":{"labels":{"x y":"z"}}}}})j", "",
     "spec.template.labels", R"j(Invalid value: "x y": name part must consist of)j"},
    {"TemplatesHaveShortLabels", "and of 63 letters at most", "deployments",
     R"j({"spec":{"template":{"metadata":{"labels":{"x":"zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"}}}}})j", "",
     "spec.template.labels", R"j(must be no more than 63 characters)j"},
    {"TemplatesHaveGoodAnnotations", "annotations of templates are annotations", "deployments",
     R"j({"spec":{"template":{"metadata":{"annotations":{"x y":"z"}}}}})j", "",
     "spec.template.annotations", R"j(Invalid value: "x y": name part must consist of)j"},
    {"SelectorsMatchTemplates", "a selector matches its template", "deployments",
     R"j({"spec":{"selector":{"matchLabels":{"a":"c"}}}})j", "",
     "spec.template.metadata.labels", R"j(`selector` does not match template `labels`)j"},
    {"SelectorsStay", "a Deployment keeps its selector", "deployments",
     R"j({})j", R"j({"spec":{"selector":{"matchLabels":{"c":"d"}},"template":{"metadata":{"labels":{"c":"d"}}}}})j",
     "spec.selector", R"j(field is immutable)j"},
    {"RecreatingRollsNothing", "who recreates does not roll", "deployments",
     R"j({"spec":{"strategy":{"type":"Recreate","rollingUpdate":{"maxSurge":1}}}})j", "",
     "spec.strategy.rollingUpdate", R"j(Forbidden: may not be specified when strategy `type` is 'Recreate')j"},
    {"RollingMoves", "rolling may do something", "deployments",
     R"j({"spec":{"strategy":{"rollingUpdate":{"maxSurge":0,"maxUnavailable":0}}}})j", "",
     "spec.strategy.rollingUpdate.maxUnavailable", R"j(Invalid value: 0: may not be 0 when `maxSurge` is 0)j"},
    {"StatefulSetsKeepTheirSpec", "of a StatefulSet little can be changed", "statefulsets",
     R"j({})j", R"j({"spec":{"serviceName":"other"}})j",
     "spec", R"j(Forbidden: updates to statefulset spec for fields other than 'replicas')j"},
    {"OnDeleteRollsNothing", "on deletion nothing is rolled", "statefulsets",
     R"j({"spec":{"updateStrategy":{"type":"OnDelete","rollingUpdate":{"partition":1}}}})j", "",
     "spec.updateStrategy.rollingUpdate", R"j(only allowed for updateStrategy 'RollingUpdate')j"},
    {"ControllersRunAlways", "a ReplicationController's pods run always", "replicationcontrollers",
     R"j({"spec":{"template":{"spec":{"restartPolicy":"Never"}}}})j", "",
     "spec.template.spec.restartPolicy", R"j(Unsupported value: "Never": supported values: "Always")j"},
    {"JobsEnd", "a Job's pods do not run always", "jobs",
     R"j({"spec":{"template":{"spec":{"restartPolicy":"Always"}}}})j", "",
     "spec.template.spec.restartPolicy", R"j(Required value: valid values: "OnFailure", "Never")j"},
    {"JobsKeepTheirTemplate", "a Job keeps its template", "jobs",
     R"j({})j", R"j({"spec":{"template":{"spec":{"restartPolicy":"Never"}}}})j",
     "spec.template", R"j(field is immutable)j"},
    {"JobsSelectTheirPods", "a Job's selector is made for it", "jobs",
     R"j({"spec":{"selector":{"matchLabels":{"a":"b"}}}})j", "",
     "spec.selector", R"j(`selector` not auto-generated)j"},
    {"SchedulesHaveFiveFields", "a schedule has five fields", "cronjobs",
     R"j({"spec":{"schedule":"x y z"}})j", "",
     "spec.schedule", R"j(Invalid value: "x y z": expected exactly 5 fields, found 3: [x y z])j"},
    {"SchedulesAreInRange", "what a schedule names exists", "cronjobs",
     R"j({"spec":{"schedule":"60 * * * *"}})j", "",
     "spec.schedule", R"j(Invalid value: "60 * * * *": end of range (60) above maximum (59): 60)j"},
    {"SchedulesHaveNoTimeZone", "a time zone is no part of a schedule", "cronjobs",
     R"j({"spec":{"schedule":"TZ=UTC 0 * * * *"}})j", "",
     "spec.schedule", R"j(cannot use TZ or CRON_TZ in schedule, use timeZone field instead)j"},
    {"TimeZonesAreExplicit", "a time zone is not the server's", "cronjobs",
     R"j({"spec":{"timeZone":"Local"}})j", "",
     "spec.timeZone", R"j(Invalid value: "Local": timeZone must be an explicit time zone)j"},
    {"TimeZonesAreNames", "a time zone has a name of a time zone", "cronjobs",
     R"j({"spec":{"timeZone":"Mars/Olympus Mons"}})j", "",
     "spec.timeZone", R"j(unknown time zone Mars/Olympus Mons)j"},
    {"BudgetsCountOneThing", "a budget has one bound", "poddisruptionbudgets",
     R"j({"spec":{"minAvailable":1,"maxUnavailable":1}})j", "",
     "spec", R"j(minAvailable and maxUnavailable cannot be both set)j"},
    {"AutoscalersHaveRoom", "an autoscaler has room", "horizontalpodautoscalers",
     R"j({"spec":{"minReplicas":5,"maxReplicas":3}})j", "",
     "spec.maxReplicas", R"j(Invalid value: 3: must be greater than or equal to `minReplicas`)j"},
    {"PathsHaveTypes", "a path of an Ingress has a type", "ingresses",
     R"j({"spec":{"rules":[{"http":{"paths":[{"path":"/","backend":{"service":{"name":"s","port":{"number":80}}}}]}}]}})j", "",
     "spec.rules[0].http.paths[0].pathType", R"j(Required value: pathType must be specified)j"},
    {"WildcardsAreWholeLabels", "a wildcard stands for one label", "ingresses",
     R"j({"spec":{"rules":[{"host":"*.*.a"}]}})j", "",
     "spec.rules[0].host", R"j(Invalid value: "*.*.a": a wildcard DNS-1123 subdomain must start with)j"},
    {"CertificatesHaveKeys", "a certificate comes with its key", "secrets",
     R"j({"type":"kubernetes.io/tls","data":{"tls.crt":"Yg=="}})j", "",
     "data[tls.key]", R"j(Required value)j"},
    {"PasswordsHaveUsers", "basic-auth has a user or a password", "secrets",
     R"j({"type":"kubernetes.io/basic-auth"})j", "",
     "data[username]", R"j(Required value)j"},
    {"KeysAreThere", "ssh-auth has a key", "secrets",
     R"j({"type":"kubernetes.io/ssh-auth","data":{"ssh-privatekey":""}})j", "",
     "data[ssh-privatekey]", R"j(Required value)j"},
    {"RegistriesAreDocuments", "credentials of registries are documents", "secrets",
     R"j({"type":"kubernetes.io/dockercfg","data":{".dockercfg":"Yg=="}})j", "",
     "data[.dockercfg]", R"j(Invalid value: "<secret contents redacted>")j"},
    {"TokensAreOfAccounts", "a token names its account", "secrets",
     R"j({"type":"kubernetes.io/service-account-token"})j", "",
     "metadata.annotations[kubernetes.io/service-account.name]", R"j(Required value)j"},
    {"SecretsKeepTheirType", "a Secret keeps its type", "secrets",
     R"j({})j", R"j({"type":"x"})j",
     "type", R"j(field is immutable)j"},
    {"FrozenSecretsStay", "an immutable Secret stays as it is", "secrets",
     R"j({"immutable":true})j", R"j({"data":{"a":"Yg=="}})j",
     "data", R"j(Forbidden: field is immutable when `immutable` is set)j"},
    {"FrozenMapsStay", "an immutable ConfigMap stays as it is", "configmaps",
     R"j({"immutable":true})j", R"j({"data":{"a":"b"}})j",
     "data", R"j(Forbidden: field is immutable when `immutable` is set)j"},
    {"FrozenMapsStayFrozen", "and immutable", "configmaps",
     R"j({"immutable":true})j", R"j({"immutable":false})j",
     "immutable", R"j(Forbidden: field is immutable when `immutable` is set)j"},
    {"KeysAreFiles", "keys of ConfigMaps are names of files", "configmaps",
     R"j({"data":{"a b":"c"}})j", "",
     "data[a b]", R"j(Invalid value: "a b": a valid config key must consist of)j"},
    {"ClaimsHaveKnownModes", "a claim is mounted in a known way", "persistentvolumeclaims",
     R"j({"spec":{"accessModes":["Foo"]}})j", "",
     "spec.accessModes", R"j(Unsupported value: "Foo": supported values: "ReadOnlyMany")j"},
    {"ClaimsAreNotEmpty", "a claim is of something", "persistentvolumeclaims",
     R"j({"spec":{"resources":{"requests":{"storage":"0"}}}})j", "",
     "spec.resources[storage]", R"j(Invalid value: "0": must be greater than zero)j"},
    {"ClaimsStay", "a claim keeps its spec", "persistentvolumeclaims",
     R"j({})j", R"j({"spec":{"accessModes":["ReadWriteMany"]}})j",
     "spec", R"j(Forbidden: spec is immutable after creation except resources.requests)j"},
    {"VolumesHaveStorage", "a volume's capacity is storage", "persistentvolumes",
     R"j({"spec":{"capacity":{"cpu":"1"}}})j", "",
     "spec.capacity", R"j(supported values: "storage")j"},
    {"LocalVolumesAreSomewhere", "a local volume says on which nodes", "persistentvolumes",
     R"j({"spec":{"hostPath":null,"local":{"path":"/a"}}})j", "",
     "spec.nodeAffinity", R"j(Required value: Local volume requires node affinity)j"},
    {"RootsAreNotRecycled", "nobody recycles a whole host", "persistentvolumes",
     R"j({"spec":{"hostPath":{"path":"/"},"persistentVolumeReclaimPolicy":"Recycle"}})j", "",
     "spec.persistentVolumeReclaimPolicy", R"j(Forbidden: may not be 'recycle' for a hostPath mount of '/')j"},
    {"VolumesKeepTheirSource", "a volume keeps its source", "persistentvolumes",
     R"j({})j", R"j({"spec":{"hostPath":{"path":"/b"}}})j",
     "spec.persistentvolumesource", R"j(Forbidden: spec.persistentvolumesource is immutable after creation)j"},
    {"VolumesKeepTheirMode", "and its mode", "persistentvolumes",
     R"j({})j", R"j({"spec":{"volumeMode":"Block"}})j",
     "volumeMode", R"j(Invalid value: "Block": field is immutable)j"},
    {"ProvisionersAreNames", "a provisioner is a name", "storageclasses",
     R"j({"provisioner":"a b"})j", "",
     "provisioner", R"j(Invalid value: "a b": name part must consist of)j"},
    {"ClassesKeepTheirProvisioner", "a StorageClass keeps its provisioner", "storageclasses",
     R"j({})j", R"j({"provisioner":"c/d"})j",
     "provisioner", R"j(Forbidden: updates to provisioner are forbidden.)j"},
    {"PrioritiesAreBounded", "a priority of users is at most a billion", "priorityclasses",
     R"j({"value":1000000001})j", "",
     "value", R"j(Forbidden: maximum allowed value of a user defined priority is 1000000000)j"},
    {"PrioritiesStay", "a PriorityClass keeps its value", "priorityclasses",
     R"j({})j", R"j({"value":6})j",
     "value", R"j(Forbidden: may not be changed in an update.)j"},
    {"PoliciesStay", "and its policy", "priorityclasses",
     R"j({})j", R"j({"preemptionPolicy":"Never"})j",
     "preemptionPolicy", R"j(Invalid value: "Never": field is immutable)j"},
    {"AccountsAreDomains", "an account's name is a DNS subdomain", "serviceaccounts",
     R"j({"metadata":{"name":"A_"}})j", "",
     "metadata.name", R"j(Invalid value: "A_": a lowercase RFC 1123 subdomain)j"},
    {"ClaimsOfDevicesStay", "a claim for devices keeps its spec", "resourceclaims",
     R"j({})j", R"j({"spec":{"devices":{"requests":[{"name":"s","exactly":{"deviceClassName":"c"}}]}}})j",
     "spec", R"j(field is immutable)j"},
    {"RequestsAskOnce", "a request asks for something, or for the first of a list", "resourceclaims",
     R"j({"spec":{"devices":{"requests":[{"name":"r"}]}}})j", "",
     "spec.devices.requests[0]", R"j(Required value: exactly one of `exactly` or `firstAvailable` is required)j"},
    {"SelectorsCompile", "a selector of devices is an expression that is true or false", "resourceclaims",
     R"j({"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"c","selectors":[{"cel":{"expression":"device.foo"}}]}}]}}})j", "",
     "spec.devices.requests[0].exactly.selectors[0].cel.expression", R"j(compilation failed: ERROR: <input>:1:7: undefined field 'foo')j"},
    {"AdminsHaveLabels", "devices that others use are for namespaces with a label", "resourceclaims",
     R"j({"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"c","adminAccess":true}}]}}})j", "",
     "spec.devices.requests[0].adminAccess", R"j(Forbidden: admin access to devices requires the `resource.kubernetes.io/admin-access: true` label on the containing namespace)j"},
    {"TemplatesOfClaimsStay", "a template of claims keeps its spec", "resourceclaimtemplates",
     R"j({})j", R"j({"spec":{"metadata":{"labels":{"a":"b"}}}})j",
     "spec", R"j(field is immutable)j"},
    {"DevicesAreSomewhere", "a slice says on which nodes its devices are", "resourceslices",
     R"j({"spec":{"nodeName":null}})j", "",
     "spec", R"j(Required value: exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required)j"},
    {"SlicesKeepTheirDriver", "a slice keeps its driver", "resourceslices",
     R"j({})j", R"j({"spec":{"driver":"e.org"}})j",
     "spec.driver", R"j(Invalid value: "e.org": field is immutable)j"},
    {"DevicesDiffer", "no device comes twice", "resourceslices",
     R"j({"spec":{"devices":[{"name":"a"},{"name":"a"}]}})j", "",
     "spec.devices[1]", R"j(Duplicate value: "a")j"},
    {"ClassesHaveDevices", "a class stands for a resource that nodes do not have by themselves", "deviceclasses",
     R"j({"spec":{"extendedResourceName":"cpu"}})j", "",
     "spec.extendedResourceName", R"j(Invalid value: "cpu": must be a valid extended resource name)j"},
    {"PodsClaimsComeFromSomewhere", "a claim of a pod is named, or made from a template", "pods",
     R"j({"spec":{"resourceClaims":[{"name":"a"}]}})j", "",
     "spec.resourceClaims[0]", R"j(must specify one of: `resourceClaimName`, `resourceClaimTemplateName`)j"},
    {"ContainersUseClaimsOfThePod", "a container uses claims of its pod", "container",
     R"j({"resources":{"claims":[{"name":"b"}]}})j", "",
     "spec.containers[0].resources.claims[0]", R"j(Not found: "b": must be one of the names in pod.spec.resourceClaims which is empty)j"},
};
// clang-format on

INSTANTIATE_TEST_SUITE_P(All, ObjectRuleTest, ::testing::ValuesIn(kRules), [](const auto& one) { return one.param.test; });

class ObjectFormsTest : public ApiFixture {};

TEST_F(ObjectFormsTest, FormsThatUpstreamTakesAreTaken) {
  // clang-format off
  const std::vector<std::tuple<std::string, std::string>> forms = {
      {"container", R"j({"env":[{"name":"A","value":"1"},{"name":"A","value":"2"},{"name":"1 b%","value":"3"}]})j"},
      {"container", R"j({"ports":[{"containerPort":80,"hostPort":8080},{"containerPort":80,"hostPort":8080,"protocol":"UDP"}]})j"},
      {"container", R"j({"resources":{"limits":{"cpu":"1","hugepages-2Mi":"4Mi","kubernetes.io/x":"1","a.org/b":"2"},"requests":{"kubernetes.io/x":"1m"}}})j"},
      {"container", R"j({"securityContext":{"runAsUser":0,"runAsGroup":2147483647}})j"},
      {"pods", R"j({"spec":{"readinessGates":[{"conditionType":"a.org/b"},{"conditionType":"a.org/b"}]}})j"},
      {"pods", R"j({"spec":{"dnsConfig":{"nameservers":["1.1.1.1","::1"],"searches":[".","_tcp.a.b."]}}})j"},
      {"pods", R"j({"spec":{"initContainers":[{"name":"i","image":"x","restartPolicy":"Always","livenessProbe":{"exec":{"command":["a"]}}}]}})j"},
      {"services", R"j({"spec":{"externalIPs":["8.8.8.8"],"externalTrafficPolicy":"Local"}})j"},
      {"services", R"j({"spec":{"type":"ExternalName","externalName":"a.b."}})j"},
      {"services", R"j({"spec":{"type":"LoadBalancer","loadBalancerSourceRanges":[" 10.0.0.0/8 "],"loadBalancerClass":"a/b"}})j"},
      {"statefulsets", R"j({"spec":{"template":{"spec":{"containers":[{"name":"c","image":"x","volumeDevices":[{"name":"d","devicePath":"/d"}]}]}},"volumeClaimTemplates":[{"metadata":{"name":"d"},"spec":{"volumeMode":"Block","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}]}})j"},
      {"deployments", R"j({"spec":{"template":{"spec":{"hostNetwork":true,"containers":[{"name":"c","image":"x","ports":[{"containerPort":80}]}]}}}})j"},
      {"secrets", R"j({"type":"kubernetes.io/basic-auth","stringData":{"password":"b"}})j"},
      {"persistentvolumes", R"j({"spec":{"hostPath":null,"local":{"path":"/a"},"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"Exists"}]}]}}}})j"},
  };
  // clang-format on
  for (const auto& [kind, change] : forms) {
    const auto [path, good] = GoodOne(kind);
    Json object = ParseOrFail(good);
    base::ApplyMergePatch(kind == "container" ? base::Find(object, {"spec", "containers"})->at(0) : object,
                          ParseOrFail(change));
    const TestReply reply = Send("POST", path, base::ToText(object));
    EXPECT_EQ(reply.status, 201) << change << ": " << reply.body;
    Send("DELETE", path + "/o?gracePeriodSeconds=0");
  }
}

TEST_F(ObjectFormsTest, ServicesChangeTheirType) {
  const auto [path, good] = GoodOne("services");
  Json object = ParseOrFail(good);
  base::ApplyMergePatch(object, ParseOrFail(R"({"spec":{"type":"LoadBalancer","externalTrafficPolicy":"Local",
      "loadBalancerClass":"a/b","healthCheckNodePort":31000}})"));
  ASSERT_EQ(Send("POST", path, base::ToText(object)).status, 201);
  const auto become = [this, one = path + "/o"](const std::string& spec) {
    const TestReply reply = Patch(one, "application/merge-patch+json", R"({"spec":)" + spec + "}");
    EXPECT_EQ(reply.status, 200) << reply.body;
    return reply.json().at("spec");
  };
  const Json plain = become(R"({"type":"ClusterIP"})");
  for (const char* gone :
       {"externalTrafficPolicy", "loadBalancerClass", "healthCheckNodePort", "allocateLoadBalancerNodePorts"}) {
    EXPECT_EQ(base::Find(plain, {gone}), nullptr) << gone;
  }
  EXPECT_EQ(base::Find(base::FindArray(plain, {"ports"}).at(0), {"nodePort"}), nullptr);
  const Json name = become(R"({"type":"ExternalName","externalName":"a.b"})");
  EXPECT_EQ(base::Find(name, {"clusterIP"}), nullptr);
  const Json again = become(R"({"type":"ClusterIP"})");
  EXPECT_EQ(base::Find(again, {"externalName"}), nullptr);
  EXPECT_NE(base::Find(again, {"clusterIP"}), nullptr);
}

TEST_F(ObjectFormsTest, AHealthCheckHasAPortOfItsOwn) {
  const auto [path, good] = GoodOne("services");
  std::set<int64_t> ports;
  for (const char* name : {"a", "b"}) {
    Json object = ParseOrFail(good);
    base::ApplyMergePatch(object, ParseOrFail(R"({"spec":{"type":"LoadBalancer","externalTrafficPolicy":"Local"}})"));
    base::Ensure(object, {"metadata", "name"}) = name;
    const TestReply reply = Send("POST", path, base::ToText(object));
    ASSERT_EQ(reply.status, 201) << reply.body;
    const Json made = reply.json();
    ports.insert(base::FindInt(made, {"spec", "healthCheckNodePort"}));
    ports.insert(base::FindInt(base::FindArray(made, {"spec", "ports"}).at(0), {"nodePort"}));
  }
  EXPECT_EQ(ports.size(), 4u);
  EXPECT_GE(*ports.begin(), 30'000);
  EXPECT_LT(*ports.rbegin(), 32'768);
}

TEST_F(ObjectFormsTest, ANamespaceKeepsTheFinalizersThatItIsMadeWith) {
  const TestReply reply =
      Send("POST", "/api/v1/namespaces", R"({"metadata":{"name":"kept"},"spec":{"finalizers":["a.org/b"]}})");
  ASSERT_EQ(reply.status, 201) << reply.body;
  EXPECT_EQ(base::ToText(*base::Find(reply.json(), {"spec", "finalizers"})), R"(["a.org/b","kubernetes"])");
}

TEST_F(ObjectFormsTest, WhatWasStoredBeforeARuleMayBeChangedOtherwise) {
  // As an earlier version would have stored it.
  const auto [path, good] = GoodOne("services");
  Json object = ParseOrFail(good);
  base::ApplyMergePatch(object, ParseOrFail(R"({"metadata":{"name":"old"}})"));
  ASSERT_EQ(Send("POST", path, base::ToText(object)).status, 201);
  const auto rows = store->List({.prefix = "/registry/", .start_after = {}});
  ASSERT_TRUE(rows.has_value());
  for (const store::KeyValue& row : rows->items) {
    if (!row.key.ends_with("services/default/old")) continue;
    std::string text = *row.value;
    const size_t at = text.find("\"type\":\"ClusterIP\"");
    ASSERT_NE(at, text.npos);
    text.insert(at, "\"externalTrafficPolicy\":\"Local\",");
    ASSERT_TRUE(
        store->CommitAndWait({.key = row.key, .value = std::make_shared<const std::string>(text), .expected = row.mod_revision})
            .has_value());
  }
  const std::string one = path + "/old";
  EXPECT_EQ(base::FindString(Send("GET", one).json(), {"spec", "externalTrafficPolicy"}), "Local");
  EXPECT_EQ(Patch(one, "application/merge-patch+json", R"({"metadata":{"labels":{"a":"b"}}})").status, 200);
  EXPECT_EQ(Patch(one, "application/merge-patch+json", R"({"spec":{"healthCheckNodePort":31000}})").status, 422);
}

class PriorityTest : public ApiFixture {
 public:
  static constexpr const char* kClasses = "/apis/scheduling.k8s.io/v1/priorityclasses";
  TestReply MakeClass(const std::string& name, const std::string& fields) {
    return Send("POST", kClasses, R"({"metadata":{"name":")" + name + "\"}," + fields + "}");
  }
  TestReply MakePod(const std::string& name, const std::string& spec) {
    return Send("POST", "/api/v1/namespaces/default/pods",
                R"({"metadata":{"name":")" + name + R"("},"spec":{"containers":[{"name":"c","image":"x"}])" + spec + "}}");
  }
};

TEST_F(PriorityTest, PodsWithoutAClassGetTheDefault) {
  const Json before = MakePod("a", "").json();
  EXPECT_EQ(base::Find(before, {"spec", "priorityClassName"}), nullptr);
  EXPECT_EQ(base::FindInt(before, {"spec", "priority"}, -1), 0);
  EXPECT_EQ(base::FindString(before, {"spec", "preemptionPolicy"}), "PreemptLowerPriority");
  ASSERT_EQ(MakeClass("usual", R"("value":7,"globalDefault":true,"preemptionPolicy":"Never")").status, 201);
  const Json pod = MakePod("b", "").json();
  EXPECT_EQ(base::FindString(pod, {"spec", "priorityClassName"}), "usual");
  EXPECT_EQ(base::FindInt(pod, {"spec", "priority"}), 7);
  EXPECT_EQ(base::FindString(pod, {"spec", "preemptionPolicy"}), "Never");
  EXPECT_EQ(MakePod("c", R"(,"priority":8)").message(),
            "pods \"c\" is forbidden: the integer value of priority (8) must not be provided in pod spec; priority admission "
            "controller computed 7 from the given PriorityClass name");
  ASSERT_EQ(Patch(std::string(kClasses) + "/usual", "application/merge-patch+json", R"({"globalDefault":false})").status, 200);
  EXPECT_EQ(base::FindInt(MakePod("d", "").json(), {"spec", "priority"}, -1), 0);
}

TEST_F(PriorityTest, ThereIsOneDefault) {
  ASSERT_EQ(MakeClass("one", R"("value":7,"globalDefault":true)").status, 201);
  const TestReply second = MakeClass("two", R"("value":5,"globalDefault":true)");
  EXPECT_EQ(second.status, 403);
  EXPECT_EQ(second.message(),
            "priorityclasses.scheduling.k8s.io \"two\" is forbidden: PriorityClass one is already marked as "
            "default. Only one default can exist");
  ASSERT_EQ(MakeClass("two", R"("value":5)").status, 201);
  const std::string two = std::string(kClasses) + "/two", one = std::string(kClasses) + "/one";
  EXPECT_EQ(Patch(two, "application/merge-patch+json", R"({"globalDefault":true})").status, 403);
  EXPECT_EQ(Patch(one, "application/merge-patch+json", R"({"description":"x"})").status, 200);
  ASSERT_EQ(Send("DELETE", one).status, 200);
  EXPECT_EQ(Patch(two, "application/merge-patch+json", R"({"globalDefault":true})").status, 200);
}

}  // namespace
}  // namespace evenkeel::embedded::apiserver::object_rules_test
