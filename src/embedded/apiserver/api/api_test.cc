#include "embedded/apiserver/api/api_testing.h"
#include "kube/object.h"

namespace evenkeel::embedded::apiserver::api_test {
namespace {

using base::Code;
using base::Json;
namespace resources = kube::resources;

class ApiTest : public ApiFixture {
 protected:
  Json Pod(const std::string& name) {
    auto pod = client->Get(resources::Pods(), "default", name);
    EXPECT_TRUE(pod.has_value()) << (pod ? "" : pod.error().message());
    return pod ? *pod : Json();
  }
};

TEST_F(ApiTest, MakesTheNamespacesThatEveryClusterHas) {
  for (const char* name : {"default", "kube-system", "kube-public", "kube-node-lease"}) {
    const auto ns = client->Get(resources::Namespaces(), "", name);
    ASSERT_TRUE(ns) << name;
    EXPECT_EQ(base::FindString(*ns, {"status", "phase"}), "Active");
    EXPECT_EQ(base::FindString(*ns, {"metadata", "labels", "kubernetes.io/metadata.name"}), name);
  }
}

TEST_F(ApiTest, FillsInWhatTheServerOwns) {
  const Json pod = CreatePod("web");
  EXPECT_EQ(base::FindString(pod, {"metadata", "uid"}).size(), 36u);
  EXPECT_EQ(base::FindString(pod, {"metadata", "creationTimestamp"}), "2023-11-14T22:13:20Z");
  EXPECT_EQ(base::FindString(pod, {"status", "phase"}), "Pending");
  EXPECT_EQ(base::FindString(pod, {"status", "qosClass"}), "BestEffort");
  EXPECT_EQ(base::FindInt(pod, {"spec", "terminationGracePeriodSeconds"}), 30);
  EXPECT_EQ(base::FindArray(pod, {"spec", "tolerations"}).size(), 2u);
  EXPECT_FALSE(kube::ResourceVersionOf(pod).empty());
  EXPECT_TRUE(base::Equal(pod, Pod("web")));
}

TEST_F(ApiTest, GivesGeneratedNamesThatDiffer) {
  std::set<std::string> names;
  for (int i = 0; i < 50; ++i) {
    const Json made =
        Create(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"run-","namespace":"default"}})");
    names.emplace(kube::NameOf(made));
  }
  EXPECT_EQ(names.size(), 50u);
  EXPECT_TRUE(names.begin()->starts_with("run-"));
}

TEST_F(ApiTest, SaysWhatIsWrongInUpstreamsWords) {
  CreatePod("web");
  const auto missing = client->Get(resources::Deployments(), "default", "nope");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message(), "deployments.apps \"nope\" not found");
  const auto twice = client->Create(resources::Pods(), Pod("web").is_object() ? [&] {
    Json again = Pod("web");
    base::Erase(again, {"metadata", "resourceVersion"});
    return again;
  }()
                                                                              : Json());
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().code(), Code::kAlreadyExists);
  EXPECT_EQ(twice.error().message(), "pods \"web\" already exists");
  const auto nameless = client->Create(resources::ConfigMaps(), ParseOrFail(R"({"metadata":{"namespace":"default"}})"));
  ASSERT_FALSE(nameless);
  EXPECT_EQ(nameless.error().message(),
            "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required");
  const auto homeless =
      client->Create(resources::ConfigMaps(), ParseOrFail(R"({"metadata":{"name":"a","namespace":"nowhere"}})"));
  ASSERT_FALSE(homeless);
  EXPECT_EQ(homeless.error().message(), "namespaces \"nowhere\" not found");
  const auto empty =
      client->Create(resources::Pods(), ParseOrFail(R"({"metadata":{"name":"a","namespace":"default"},"spec":{}})"));
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().code(), Code::kInvalid);
  EXPECT_NE(empty.error().message().find("spec.containers: Required value"), std::string::npos) << empty.error().message();
}

TEST_F(ApiTest, RefusesAnUpdateOfAnOldVersion) {
  const Json first = CreatePod("web");
  Json labelled = first;
  base::Ensure(labelled, {"metadata", "labels", "a"}) = "1";
  ASSERT_TRUE(client->Update(resources::Pods(), labelled));
  const auto stale = client->Update(resources::Pods(), labelled);
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().code(), Code::kConflict);
  EXPECT_EQ(
      stale.error().message(),
      "Operation cannot be fulfilled on pods \"web\": the object has been modified; please apply your changes to the latest "
      "version and try again");
}

TEST_F(ApiTest, DoesNotWriteWhenNothingChanges) {
  const Json pod = CreatePod("web");
  const auto revision = store->current_revision();
  const auto same = client->Update(resources::Pods(), pod);
  ASSERT_TRUE(same) << same.error().message();
  EXPECT_EQ(kube::ResourceVersionOf(*same), kube::ResourceVersionOf(pod));
  EXPECT_EQ(store->current_revision(), revision);
}

TEST_F(ApiTest, KeepsSpecAndStatusApart) {
  Json deployment = Create(R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"default"},
    "spec":{"replicas":2,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},
    "spec":{"containers":[{"name":"c","image":"x"}]}}},"status":{"replicas":9}})");
  EXPECT_EQ(base::FindInt(deployment, {"status", "replicas"}), 0);
  EXPECT_EQ(base::FindInt(deployment, {"metadata", "generation"}), 1);
  base::Ensure(deployment, {"spec", "replicas"}) = 3;
  base::Ensure(deployment, {"status", "replicas"}) = 9;
  Json updated = client->Update(resources::Deployments(), deployment).value();
  EXPECT_EQ(base::FindInt(updated, {"status", "replicas"}), 0);
  EXPECT_EQ(base::FindInt(updated, {"metadata", "generation"}), 2);
  base::Ensure(updated, {"spec", "replicas"}) = 7;
  base::Ensure(updated, {"status", "replicas"}) = 3;
  const Json status = client->Update(resources::Deployments(), updated, {.subresource = "status", .field_manager = ""}).value();
  EXPECT_EQ(base::FindInt(status, {"spec", "replicas"}), 3);
  EXPECT_EQ(base::FindInt(status, {"status", "replicas"}), 3);
  EXPECT_EQ(base::FindInt(status, {"metadata", "generation"}), 2);
}

TEST_F(ApiTest, ScalesThroughTheSubresource) {
  Create(R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"default"},
    "spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"x"}]}}}})");
  Json scale = client->Get(resources::Deployments(), "default", "web", "scale").value();
  EXPECT_EQ(base::FindString(scale, {"kind"}), "Scale");
  EXPECT_EQ(base::FindString(scale, {"status", "selector"}), "a=b");
  EXPECT_EQ(base::FindInt(scale, {"spec", "replicas"}), 1);
  base::Ensure(scale, {"spec", "replicas"}) = 5;
  ASSERT_TRUE(client->Update(resources::Deployments(), scale, {.subresource = "scale", .field_manager = ""}));
  const Json patched = client
                           ->Patch(resources::Deployments(), "default", "web", client::PatchType::kMerge,
                                   ParseOrFail(R"({"spec":{"replicas":6}})"), {.subresource = "scale", .field_manager = ""})
                           .value();
  EXPECT_EQ(base::FindInt(patched, {"spec", "replicas"}), 6);
  EXPECT_EQ(base::FindInt(client->Get(resources::Deployments(), "default", "web").value(), {"spec", "replicas"}), 6);
  EXPECT_FALSE(client->Patch(resources::Deployments(), "default", "web", client::PatchType::kMerge,
                             ParseOrFail(R"({"spec":{"replicas":-1}})"), {.subresource = "scale", .field_manager = ""}));
}

TEST_F(ApiTest, DeletesPodsGracefullyOnlyWhereTheyRun) {
  CreatePod("pending");
  ASSERT_TRUE(client->Delete(resources::Pods(), "default", "pending"));
  EXPECT_FALSE(client->Get(resources::Pods(), "default", "pending"));

  CreatePod("bound");
  ASSERT_TRUE(
      client->Post(resources::Pods(), "default", "bound", "binding", ParseOrFail(R"({"target":{"kind":"Node","name":"n1"}})")));
  EXPECT_EQ(base::FindString(Pod("bound"), {"spec", "nodeName"}), "n1");
  const auto again = client->Post(resources::Pods(), "default", "bound", "binding", ParseOrFail(R"({"target":{"name":"n2"}})"));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().message(),
            "Operation cannot be fulfilled on pods/binding \"bound\": pod bound is already assigned to node \"n1\"");

  ASSERT_TRUE(client->Delete(resources::Pods(), "default", "bound"));
  EXPECT_EQ(base::FindString(Pod("bound"), {"metadata", "deletionTimestamp"}), "2023-11-14T22:13:50Z");
  EXPECT_EQ(base::FindInt(Pod("bound"), {"metadata", "deletionGracePeriodSeconds"}), 30);
  ASSERT_TRUE(client->Delete(resources::Pods(), "default", "bound",
                             {.grace_period_seconds = 5, .propagation_policy = "", .uid = "", .resource_version = ""}));
  EXPECT_EQ(base::FindString(Pod("bound"), {"metadata", "deletionTimestamp"}), "2023-11-14T22:13:25Z");
  ASSERT_TRUE(client->Delete(resources::Pods(), "default", "bound",
                             {.grace_period_seconds = 0, .propagation_policy = "", .uid = "", .resource_version = ""}));
  EXPECT_FALSE(client->Get(resources::Pods(), "default", "bound"));
}

TEST_F(ApiTest, KeepsAnObjectUntilItsFinalizersAreGone) {
  Json map = Create(
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default","finalizers":["example.com/hold"]}})");
  ASSERT_TRUE(client->Delete(resources::ConfigMaps(), "default", "a"));
  map = client->Get(resources::ConfigMaps(), "default", "a").value();
  EXPECT_FALSE(base::FindString(map, {"metadata", "deletionTimestamp"}).empty());
  ASSERT_TRUE(client->Patch(resources::ConfigMaps(), "default", "a", client::PatchType::kMerge,
                            ParseOrFail(R"({"metadata":{"finalizers":null}})")));
  EXPECT_FALSE(client->Get(resources::ConfigMaps(), "default", "a"));
}

TEST_F(ApiTest, LeavesPropagationToTheCollector) {
  const char* text = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default"}})";
  Create(text);
  ASSERT_TRUE(
      client->Delete(resources::ConfigMaps(), "default", "a",
                     {.grace_period_seconds = {}, .propagation_policy = "Foreground", .uid = "", .resource_version = ""}));
  const Json map = client->Get(resources::ConfigMaps(), "default", "a").value();
  EXPECT_EQ(base::ToText(base::FindArray(map, {"metadata", "finalizers"})), R"(["foregroundDeletion"])");
}

TEST_F(ApiTest, HonoursPreconditions) {
  CreatePod("web");
  const auto other = client->Delete(resources::Pods(), "default", "web",
                                    {.grace_period_seconds = {}, .propagation_policy = "", .uid = "x", .resource_version = ""});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code(), Code::kConflict);
  EXPECT_NE(other.error().message().find("Precondition failed: UID in precondition: x, UID in object meta: "),
            std::string::npos);
}

TEST_F(ApiTest, DryRunChangesNothing) {
  const auto revision = store->current_revision();
  const auto dry = client->Create(resources::ConfigMaps(), ParseOrFail(R"({"metadata":{"name":"a","namespace":"default"}})"),
                                  {.subresource = "", .field_manager = "", .dry_run = true});
  ASSERT_TRUE(dry);
  EXPECT_TRUE(kube::ResourceVersionOf(*dry).empty());
  CreatePod("web");
  ASSERT_TRUE(client->Delete(
      resources::Pods(), "default", "web",
      {.grace_period_seconds = {}, .propagation_policy = "", .uid = "", .resource_version = "", .dry_run = true}));
  EXPECT_EQ(store->current_revision(), revision + 1);
}

TEST_F(ApiTest, PagesThroughOneRevision) {
  for (int i = 0; i < 10; ++i) CreatePod("p" + std::to_string(i));
  auto page =
      client->List(resources::Pods(), {.ns = "default", .label_selector = "", .field_selector = "", .limit = 4}).value();
  ASSERT_EQ(page.items.size(), 4u);
  EXPECT_EQ(page.remaining, 6);
  CreatePod("p00");
  std::vector<std::string> names;
  for (const Json& item : page.items) names.emplace_back(kube::NameOf(item));
  while (!page.continue_token.empty()) {
    client::ListOptions options{.ns = "default", .label_selector = "", .field_selector = "", .limit = 4};
    options.continue_token = page.continue_token;
    page = client->List(resources::Pods(), options).value();
    for (const Json& item : page.items) names.emplace_back(kube::NameOf(item));
  }
  EXPECT_EQ(names.size(), 10u) << "the pod that came in between is not in the list";
  EXPECT_TRUE(std::ranges::is_sorted(names));
  client::ListOptions broken;
  broken.continue_token = "!!!";
  EXPECT_EQ(client->List(resources::Pods(), broken).error().code(), Code::kBadRequest);
}

TEST_F(ApiTest, TellsThatATokenHasExpired) {
  for (int i = 0; i < 3; ++i) CreatePod("p" + std::to_string(i));
  const auto page = client->List(resources::Pods(), {.ns = "", .label_selector = "", .field_selector = "", .limit = 1}).value();
  CreatePod("q");
  ASSERT_TRUE(store->Compact(store->current_revision()));
  client::ListOptions next;
  next.limit = 1;
  next.continue_token = page.continue_token;
  EXPECT_EQ(client->List(resources::Pods(), next).error().code(), Code::kExpired);
}

TEST_F(ApiTest, SelectsByLabelsAndFields) {
  CreatePod("a", "", R"({"app":"x"})");
  CreatePod("b", R"(,"nodeName":"n1")", R"({"app":"y"})");
  const auto names = [&](const std::string& labels, const std::string& fields) {
    std::string text;
    const auto page = client->List(resources::Pods(), {.ns = "", .label_selector = labels, .field_selector = fields}).value();
    for (const Json& item : page.items) text += kube::NameOf(item);
    return text;
  };
  EXPECT_EQ(names("app=x", ""), "a");
  EXPECT_EQ(names("app in (x,y)", ""), "ab");
  EXPECT_EQ(names("app!=x", ""), "b");
  EXPECT_EQ(names("", "spec.nodeName=n1"), "b");
  EXPECT_EQ(names("", "spec.nodeName="), "a");
  EXPECT_EQ(names("", "metadata.name=a,status.phase!=Running"), "a");
  const auto unsupported = client->List(resources::Pods(), {.ns = "", .label_selector = "", .field_selector = "spec.image=x"});
  ASSERT_FALSE(unsupported);
  EXPECT_EQ(unsupported.error().code(), Code::kBadRequest);
  EXPECT_NE(unsupported.error().message().find("field label not supported: spec.image"), std::string::npos);
}

TEST_F(ApiTest, GivesServicesTheirAddresses) {
  const Json a = Create(
      R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"a","namespace":"default"},"spec":{"type":"NodePort","ports":[{"port":80}]}})");
  const std::string ip(base::FindString(a, {"spec", "clusterIP"}));
  EXPECT_TRUE(ip.starts_with("10.")) << ip;
  EXPECT_GE(base::FindInt(base::FindArray(a, {"spec", "ports"})[0], {"nodePort"}), 30000);
  const auto taken = client->Create(resources::Services(),
                                    ParseOrFail(R"({"metadata":{"name":"b","namespace":"default"},"spec":{"clusterIP":")" + ip +
                                                R"(","ports":[{"port":80}]}})"));
  ASSERT_FALSE(taken);
  EXPECT_NE(taken.error().message().find("provided IP is already allocated"), std::string::npos);
  Json changed = a;
  base::Erase(changed, {"spec", "clusterIP"});
  base::Erase(changed, {"spec", "clusterIPs"});
  const Json kept = client->Update(resources::Services(), changed).value();
  EXPECT_EQ(base::FindString(kept, {"spec", "clusterIP"}), ip);
  ASSERT_TRUE(client->Delete(resources::Services(), "default", "a"));
  const Json again = Create(
      R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"a","namespace":"default"},"spec":{"ports":[{"port":80}]}})");
  EXPECT_EQ(base::FindString(again, {"spec", "clusterIP"}), ip);
}

TEST_F(ApiTest, EndsANamespaceInTwoSteps) {
  Create(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team"}})");
  ASSERT_TRUE(client->Delete(resources::Namespaces(), "", "team"));
  Json ns = client->Get(resources::Namespaces(), "", "team").value();
  EXPECT_EQ(base::FindString(ns, {"status", "phase"}), "Terminating");
  const auto refused = client->Create(resources::ConfigMaps(), ParseOrFail(R"({"metadata":{"name":"a","namespace":"team"}})"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(),
            "configmaps \"a\" is forbidden: unable to create new content in namespace team because it is being terminated");
  base::Ensure(ns, {"spec", "finalizers"}) = base::JsonArray();
  ASSERT_TRUE(client->Update(resources::Namespaces(), ns, {.subresource = "finalize", .field_manager = ""}));
  EXPECT_FALSE(client->Get(resources::Namespaces(), "", "team"));
}

TEST_F(ApiTest, EvictsWithinTheBudget) {
  Create(R"({"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"pdb","namespace":"default"},
             "spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"x"}}}})");
  for (const std::string name : {"a", "b"}) {
    CreatePod(name, R"(,"nodeName":"n1")", R"({"app":"x"})");
    ASSERT_TRUE(client->Patch(resources::Pods(), "default", name, client::PatchType::kMerge,
                              ParseOrFail(R"({"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}})"),
                              {.subresource = "status", .field_manager = ""}));
  }
  const Json eviction =
      ParseOrFail(R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"a","namespace":"default"}})");
  const auto early = client->Post(resources::Pods(), "default", "a", "eviction", eviction);
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().code(), Code::kTooManyRequests);
  ASSERT_TRUE(client->Patch(
      resources::PodDisruptionBudgets(), "default", "pdb", client::PatchType::kMerge,
      ParseOrFail(
          R"({"status":{"observedGeneration":1,"disruptionsAllowed":1,"desiredHealthy":1,"currentHealthy":2,"expectedPods":2}})"),
      {.subresource = "status", .field_manager = ""}));
  ASSERT_TRUE(client->Post(resources::Pods(), "default", "a", "eviction", eviction));
  EXPECT_FALSE(base::FindString(Pod("a"), {"metadata", "deletionTimestamp"}).empty());
  const Json budget = client->Get(resources::PodDisruptionBudgets(), "default", "pdb").value();
  EXPECT_EQ(base::FindInt(budget, {"status", "disruptionsAllowed"}), 0);
  EXPECT_NE(base::Find(budget, {"status", "disruptedPods", "a"}), nullptr);
  const auto refused = client->Post(resources::Pods(), "default", "b", "eviction", ParseOrFail(R"({"metadata":{"name":"b"}})"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), "Cannot evict pod as it would violate the pod's disruption budget.");
  ASSERT_NE(refused.error().details(), nullptr);
  EXPECT_EQ(refused.error().details()->causes[0].reason, "DisruptionBudget");
  EXPECT_EQ(refused.error().details()->causes[0].message, "The disruption budget pdb needs 1 healthy pods and has 2 currently");
}

TEST_F(ApiTest, ShowsOneEventUnderBothNames) {
  Create(
      R"({"apiVersion":"v1","kind":"Event","metadata":{"name":"e","namespace":"default"},"involvedObject":{"kind":"Pod","name":"web","namespace":"default"},
             "reason":"Started","message":"hello","type":"Normal","count":3})");
  const kube::Resource* newer = kube::FindBuiltIn("events.k8s.io", "v1", "events");
  ASSERT_NE(newer, nullptr);
  const Json seen = client->Get(*newer, "default", "e").value();
  EXPECT_EQ(base::FindString(seen, {"apiVersion"}), "events.k8s.io/v1");
  EXPECT_EQ(base::FindString(seen, {"note"}), "hello");
  EXPECT_EQ(base::FindString(seen, {"regarding", "name"}), "web");
  EXPECT_EQ(base::FindInt(seen, {"deprecatedCount"}), 3);
  const auto selected =
      client
          ->List(resources::Events(),
                 {.ns = "default", .label_selector = "", .field_selector = "involvedObject.name=web,type=Normal"})
          .value();
  EXPECT_EQ(selected.items.size(), 1u);
}

TEST_F(ApiTest, PutsJobSelectorsAndSecretStringsInPlace) {
  const Json job = Create(R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j","namespace":"default"},
    "spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"x"}]}}}})");
  EXPECT_EQ(base::FindString(job, {"spec", "selector", "matchLabels", "batch.kubernetes.io/controller-uid"}), kube::UidOf(job));
  EXPECT_EQ(base::FindString(job, {"spec", "template", "metadata", "labels", "job-name"}), "j");
  const Json secret =
      Create(R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","namespace":"default"},"stringData":{"k":"v"}})");
  EXPECT_EQ(base::FindString(secret, {"data", "k"}), "dg==");
  EXPECT_EQ(base::Find(secret, {"stringData"}), nullptr);
}

TEST_F(ApiTest, PatchesInAllWays) {
  CreatePod("web", "", R"({"a":"1"})");
  ASSERT_TRUE(client->Patch(resources::Pods(), "default", "web", client::PatchType::kJson,
                            ParseOrFail(R"([{"op":"add","path":"/metadata/labels/b","value":"2"}])")));
  ASSERT_TRUE(client->Patch(
      resources::Pods(), "default", "web", client::PatchType::kStrategic,
      ParseOrFail(R"({"metadata":{"labels":{"a":null}},"spec":{"containers":[{"name":"main","image":"nginx:2"}]}})")));
  const Json pod = Pod("web");
  EXPECT_EQ(base::ToText(base::FindObject(pod, {"metadata", "labels"})), R"({"b":"2"})");
  EXPECT_EQ(base::FindArray(pod, {"spec", "containers"}).size(), 1u);
  EXPECT_EQ(base::FindString(base::FindArray(pod, {"spec", "containers"})[0], {"image"}), "nginx:2");
  const auto stale = client->Patch(resources::Pods(), "default", "web", client::PatchType::kMerge,
                                   ParseOrFail(R"({"metadata":{"resourceVersion":"1","labels":{"c":"3"}}})"));
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().code(), Code::kConflict);
  const auto wrong = client->Patch(resources::Pods(), "default", "web", client::PatchType::kJson,
                                   ParseOrFail(R"([{"op":"test","path":"/metadata/name","value":"x"}])"));
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code(), Code::kInvalid);
}

TEST_F(ApiTest, DeletesACollectionBySelector) {
  for (const std::string name : {"a", "b", "c"}) CreatePod(name, "", name == "c" ? R"({"keep":"1"})" : "{}");
  const TestReply reply = Send("DELETE", "/api/v1/namespaces/default/pods?labelSelector=%21keep");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(base::FindArray(reply.json(), {"items"}).size(), 2u);
  const auto left = client->List(resources::Pods(), {.ns = "default", .label_selector = "", .field_selector = ""}).value();
  ASSERT_EQ(left.items.size(), 1u);
  EXPECT_EQ(kube::NameOf(left.items[0]), "c");
}

}  // namespace
}  // namespace evenkeel::embedded::apiserver::api_test
