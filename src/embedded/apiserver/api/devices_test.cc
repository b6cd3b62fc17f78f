// What the API does to slices of devices and claims for them beside what object_rules_test.cc has.
#include "embedded/apiserver/api/api_testing.h"

namespace evenkeel::embedded::apiserver::devices_test {
namespace {

using base::Json;

class DevicesTest : public ApiFixture {
 protected:
  static constexpr const char* kGroup = "/apis/resource.k8s.io/v1/";
  static constexpr const char* kClaims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";

  static std::string Claim(const std::string& name, const std::string& more = "") {
    return R"({"metadata":{"name":")" + name +
           R"("},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"c")" + more + "}}]}}}";
  }
  TestReply PatchStatus(const std::string& name, const std::string& status) {
    return Patch(std::string(kClaims) + "/" + name + "/status", "application/merge-patch+json", R"({"status":)" + status + "}");
  }
  TestReply MakeSlice(const std::string& name, const std::string& driver, const std::string& node, const std::string& device) {
    return Send("POST", std::string(kGroup) + "resourceslices",
                R"({"metadata":{"name":")" + name + R"("},"spec":{"driver":")" + driver + R"(","nodeName":")" + node +
                    R"(","pool":{"name":")" + node + R"(","generation":1,"resourceSliceCount":1},"devices":[)" + device +
                    "]}}");
  }
  static std::string Names(const Json& list) {
    std::string names;
    for (const Json& item : base::FindArray(list, {"items"})) names += std::string(kube::NameOf(item)) + " ";
    return names;
  }
};

constexpr const char* kAllocation =
    R"("allocation":{"devices":{"results":[{"request":"r","driver":"d.org","pool":"n","device":"a"MORE}]}})";

std::string Allocation(const std::string& more = "") {
  std::string text = kAllocation;
  return text.replace(text.find("MORE"), 4, more);
}

TEST_F(DevicesTest, AdminsHaveANamespaceThatSaysSo) {
  const std::string admin = R"(,"adminAccess":true)";
  EXPECT_EQ(Send("POST", kClaims, Claim("a", admin)).status, 422);
  ASSERT_EQ(Send("POST", kClaims, Claim("b")).status, 201);
  const std::string result = "{" + Allocation(R"(,"adminAccess":true)") + "}";
  const TestReply refused = PatchStatus("b", result);
  EXPECT_EQ(refused.status, 422);
  EXPECT_NE(refused.message().find("status.allocation.devices.results[0].adminAccess: Forbidden: admin access to devices"),
            std::string::npos)
      << refused.message();
  ASSERT_EQ(Patch("/api/v1/namespaces/default", "application/merge-patch+json",
                  R"({"metadata":{"labels":{"resource.kubernetes.io/admin-access":"true"}}})")
                .status,
            200);
  EXPECT_EQ(Send("POST", kClaims, Claim("a", admin)).status, 201);
  EXPECT_EQ(PatchStatus("b", result).status, 200);
}

TEST_F(DevicesTest, StatusIsTheSubresourcesAndDeviceStatusGoesWithItsDevice) {
  ASSERT_EQ(Send("POST", kClaims, Claim("c")).status, 201);
  ASSERT_EQ(PatchStatus("c", "{" + Allocation() + R"(,"reservedFor":[{"resource":"pods","name":"p","uid":"u"}],
      "devices":[{"driver":"d.org","pool":"n","device":"a","data":{"x":1}}]})")
                .status,
            200);
  EXPECT_EQ(Patch(std::string(kClaims) + "/c", "application/merge-patch+json", R"({"status":null})").status, 200);
  const Json kept = Send("GET", std::string(kClaims) + "/c").json();
  EXPECT_EQ(base::FindArray(kept, {"status", "devices"}).size(), 1u);
  EXPECT_EQ(base::FindArray(kept, {"status", "reservedFor"}).size(), 1u);
  ASSERT_EQ(PatchStatus("c", R"({"allocation":null,"reservedFor":null})").status, 200);
  const Json freed = Send("GET", std::string(kClaims) + "/c").json();
  EXPECT_EQ(base::ToText(*base::Find(freed, {"status"})), "{}");
}

TEST_F(DevicesTest, SlicesAreFoundByNodeAndDriverAndSayWhenTaintsCame) {
  const std::string tainted = R"({"name":"a","taints":[{"key":"k","effect":"NoSchedule"}]})";
  ASSERT_EQ(MakeSlice("a", "d.org", "n", tainted).status, 201);
  ASSERT_EQ(MakeSlice("b", "d.org", "m", R"({"name":"a"})").status, 201);
  ASSERT_EQ(MakeSlice("c", "e.org", "n", R"({"name":"a"})").status, 201);
  const auto found = [&](const std::string& selector) {
    return Names(Send("GET", std::string(kGroup) + "resourceslices?fieldSelector=" + selector).json());
  };
  EXPECT_EQ(found("spec.nodeName%3Dn"), "a c ");
  EXPECT_EQ(found("spec.driver%3Dd.org,spec.nodeName%3Dm"), "b ");
  const auto since = [&](const std::string& name) {
    const Json slice = Send("GET", std::string(kGroup) + "resourceslices/" + name).json();
    return std::string(
        base::FindString(base::FindArray(base::FindArray(slice, {"spec", "devices"})[0], {"taints"})[0], {"timeAdded"}));
  };
  const std::string first = since("a");
  EXPECT_EQ(first, base::FormatTime(executor.clock().Now()));
  executor.RunFor(std::chrono::seconds(9));
  ASSERT_EQ(Patch(std::string(kGroup) + "resourceslices/b", "application/merge-patch+json",
                  R"({"spec":{"devices":[)" + tainted + "]}}")
                .status,
            200);
  EXPECT_EQ(since("b"), base::FormatTime(executor.clock().Now()));
  EXPECT_EQ(since("a"), first);
}

}  // namespace
}  // namespace evenkeel::embedded::apiserver::devices_test
