// Endpoints that people write are shown as EndpointSlices.
#include "embedded/workloads/cluster/endpoint_mirroring.h"

#include "embedded/workloads/cluster/cluster_testing.h"

namespace evenkeel::embedded::workloads::endpoint_mirroring_test {
namespace {

std::string Subset(const std::string& addresses, const std::string& ports, const std::string& waiting = "[]") {
  return R"({"addresses":)" + addresses + R"(,"notReadyAddresses":)" + waiting + R"(,"ports":)" + ports + "}";
}

std::string Addresses(size_t count, const std::string& prefix = "10.1.") {
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    text += (i == 0 ? "" : ",") + (R"({"ip":")" + prefix + std::to_string(i / 250) + "." + std::to_string(i % 250) + "\"}");
  }
  return "[" + text + "]";
}

TEST(MirroredSlicesTest, ShowWhatTheEndpointsSay) {
  const auto slices = MirroredSlices(Parse(
      R"({"subsets":[)" +
      Subset(R"([{"ip":"10.1.0.1","hostname":"h","nodeName":"n","targetRef":{"kind":"Pod","name":"p"}},{"ip":"fd00::1"}])",
             R"([{"name":"web","port":80,"protocol":"TCP","appProtocol":"http"}])", R"([{"ip":"10.1.0.2"}])") +
      "," + Subset(R"([{"ip":"10.2.0.1"}])", R"([{"port":53,"protocol":"UDP"}])") + "," +
      Subset(R"([{"ip":"10.3.0.1"}])", R"([{"name":"web","port":80,"protocol":"TCP","appProtocol":"http"}])") + "]}"));
  ASSERT_EQ(slices.size(), 3U);
  EXPECT_EQ(base::ToText(slices[0]),
            R"({"addressType":"IPv4","endpoints":[{"addresses":["10.2.0.1"],"conditions":{"ready":true}}],"ports":)"
            R"([{"name":"","port":53,"protocol":"UDP"}]})");
  EXPECT_EQ(
      base::ToText(slices[1]),
      R"({"addressType":"IPv4","endpoints":[{"addresses":["10.1.0.1"],"conditions":{"ready":true},"hostname":"h","nodeName":"n",)"
      R"("targetRef":{"kind":"Pod","name":"p"}},{"addresses":["10.1.0.2"],"conditions":{"ready":false}},)"
      R"({"addresses":["10.3.0.1"],"conditions":{"ready":true}}],"ports":)"
      R"([{"name":"web","port":80,"protocol":"TCP","appProtocol":"http"}]})");
  EXPECT_EQ(FindString(slices[2], {"addressType"}), "IPv6");
  EXPECT_TRUE(MirroredSlices(Parse("{}")).empty());
}

TEST(MirroredSlicesTest, ThousandOfASubsetCount) {
  const std::string ports = R"([{"port":80,"protocol":"TCP"}])";
  const auto one = MirroredSlices(Parse(R"({"subsets":[)" + Subset(Addresses(900), ports, Addresses(300, "10.2.")) + "]}"));
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].at("endpoints").as_array().size(), 1'000U);
  EXPECT_EQ(base::ToText(one[0].at("endpoints").at(999)), R"({"addresses":["10.2.0.99"],"conditions":{"ready":false}})");
  const auto two = MirroredSlices(
      Parse(R"({"subsets":[)" + Subset(Addresses(1'200), ports) + "," + Subset(Addresses(700, "10.3."), ports) + "]}"));
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(two[0].at("endpoints").as_array().size() + two[1].at("endpoints").as_array().size(), 1'700U);
}

class EndpointMirroringTest : public ClusterTest {
 protected:
  void MakeService(const std::string& name, const std::string& more = "") {
    Create(R"({"apiVersion":"v1","kind":"Service","metadata":{"name":")" + name +
           R"(","namespace":"default"},"spec":{"ports":[{"port":80}])" + more + "}}");
  }
  void MakeEndpoints(const std::string& name, const std::string& ip, const std::string& more = "") {
    Create(R"({"apiVersion":"v1","kind":"Endpoints","metadata":{"name":")" + name + R"(","namespace":"default")" + more +
           R"(},"subsets":[{"addresses":[{"ip":")" + ip + R"("}],"ports":[{"port":80}]}]})");
  }
  std::vector<Json> Slices(const std::string& service) {
    RunFor(1s);
    return List("endpointslices", "kubernetes.io/service-name=" + service);
  }
  int SliceWrites() {
    return static_cast<int>(std::count_if(counting->writes.begin(), counting->writes.end(),
                                          [](const std::string& write) { return write.contains("endpointslices"); }));
  }
};

TEST_F(EndpointMirroringTest, FollowsWhatPeopleWrite) {
  MakeService("db");
  MakeEndpoints("db", "192.0.2.1",
                R"(,"labels":{"team":"a"},"annotations":{"note":"b","endpoints.kubernetes.io/last-change-trigger-time":"x"})");
  auto slices = Slices("db");
  ASSERT_EQ(slices.size(), 1U);
  const std::string name(kube::NameOf(slices[0]));
  EXPECT_TRUE(name.starts_with("db-"));
  EXPECT_EQ(base::ToText(slices[0].at("endpoints")), R"([{"addresses":["192.0.2.1"],"conditions":{"ready":true}}])");
  EXPECT_EQ(FindString(slices[0], {"metadata", "labels", "endpointslice.kubernetes.io/managed-by"}),
            "endpointslicemirroring-controller.k8s.io");
  EXPECT_EQ(FindString(slices[0], {"metadata", "labels", "team"}), "a");
  EXPECT_EQ(base::ToText(slices[0].at("metadata").at("annotations")), R"({"note":"b"})");
  EXPECT_EQ(FindString(slices[0].at("metadata").at("ownerReferences").at(0), {"kind"}), "Endpoints");
  // The slice is changed, not made anew.
  Merge("endpoints", "db", R"({"subsets":[{"addresses":[{"ip":"192.0.2.2"}],"ports":[{"port":80}]}]})");
  slices = Slices("db");
  ASSERT_EQ(slices.size(), 1U);
  EXPECT_EQ(kube::NameOf(slices[0]), name);
  EXPECT_EQ(FindString(slices[0].at("endpoints").at(0).at("addresses"), {}), "");
  EXPECT_EQ(base::ToText(slices[0].at("endpoints").at(0).at("addresses")), R"(["192.0.2.2"])");
  const int writes = SliceWrites();
  RunFor(1min);
  EXPECT_EQ(SliceWrites(), writes) << "nothing is written while all is right";
  // Also when somebody else changes or removes it.
  Merge("endpointslices", name, R"({"endpoints":[]})");
  EXPECT_EQ(Slices("db").at(0).at("endpoints").as_array().size(), 1U);
  Delete("endpointslices", name);
  EXPECT_EQ(Slices("db").size(), 1U);
  Delete("endpoints", "db");
  EXPECT_TRUE(Slices("db").empty());
}

TEST_F(EndpointMirroringTest, AServiceWithASelectorHasSlicesOfItsOwn) {
  MakeService("db");
  MakeEndpoints("db", "192.0.2.1");
  ASSERT_EQ(Slices("db").size(), 1U);
  Merge("services", "db", R"({"spec":{"selector":{"app":"db"}}})");
  const auto slices = Slices("db");
  ASSERT_EQ(slices.size(), 1U);
  EXPECT_EQ(FindString(slices[0], {"metadata", "labels", "endpointslice.kubernetes.io/managed-by"}),
            "endpointslice-controller.k8s.io");
}

TEST_F(EndpointMirroringTest, OnlyWhatIsToBeMirrored) {
  MakeEndpoints("alone", "192.0.2.1");
  MakeService("skipped");
  MakeEndpoints("skipped", "192.0.2.1", R"(,"labels":{"endpointslice.kubernetes.io/skip-mirror":"true"})");
  MakeService("leader");
  MakeEndpoints("leader", "192.0.2.1", R"(,"annotations":{"control-plane.alpha.kubernetes.io/leader":"{}"})");
  for (const char* name : {"alone", "skipped", "leader"}) EXPECT_TRUE(Slices(name).empty()) << name;
  MakeService("alone");
  EXPECT_EQ(Slices("alone").size(), 1U);
  Merge("endpoints", "alone", R"({"metadata":{"labels":{"endpointslice.kubernetes.io/skip-mirror":"true"}}})");
  EXPECT_TRUE(Slices("alone").empty());
  Merge("endpoints", "skipped", R"({"metadata":{"labels":null}})");
  EXPECT_EQ(Slices("skipped").size(), 1U);
  Delete("services", "skipped");
  EXPECT_TRUE(Slices("skipped").empty());
}

}  // namespace
}  // namespace evenkeel::embedded::workloads::endpoint_mirroring_test
