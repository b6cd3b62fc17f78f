#include "controllers/rollout/zookeeper/hub/installation.h"

#include <gtest/gtest.h>

#include "base/hash.h"
#include "client/definitions.h"
#include "client/fake_client_testing.h"
#include "kube/karmada.h"

namespace evenkeel::controllers::rollout::zookeeper::installation_test {
namespace {

using base::FindString;
using base::Json;

TEST(InstallationTest, TheLatestWebhookIsTheOneThatIsAsked) {
  auto api = std::make_shared<client::FakeApi>();
  client::FakeClient hub(api);
  ASSERT_TRUE(InstallDefinitions(hub));
  for (const char* name : {"multiclusterzookeepers.evenkeel.dev", "zookeepers.evenkeel.dev"}) {
    EXPECT_TRUE(api->objects["customresourcedefinitions"].contains(name)) << name;
  }
  EXPECT_EQ(*InstallWebhooks(hub, {"https://a:1", "PEM"}), "");
  const auto config = [&](const std::string& plural) {
    return api->objects[plural].at("evenkeel-rollout").at("webhooks").at(0).at("clientConfig");
  };
  EXPECT_EQ(FindString(config("validatingwebhookconfigurations"), {"url"}), "https://a:1/admission");
  EXPECT_EQ(FindString(config("resourceinterpreterwebhookconfigurations"), {"url"}), "https://a:1/interpreter");
  EXPECT_EQ(FindString(config("resourceinterpreterwebhookconfigurations"), {"caBundle"}), base::Base64Encode("PEM"));
  const int updates = hub.Count("update");
  EXPECT_EQ(*InstallWebhooks(hub, {"https://a:1", "PEM"}), "");
  EXPECT_EQ(hub.Count("update"), updates) << "nothing to say";
  EXPECT_EQ(*InstallWebhooks(hub, {"https://b:1", "PEM"}), "");
  EXPECT_EQ(FindString(config("validatingwebhookconfigurations"), {"url"}), "https://b:1/admission");
}

TEST(InstallationTest, WhatSomebodyChangedIsPutBackAndWhatTheApiFilledInStays) {
  auto api = std::make_shared<client::FakeApi>();
  client::FakeClient hub(api);
  ASSERT_TRUE(InstallWebhooks(hub, {"https://a:1", "PEM"}));
  Json& webhook = api->objects["validatingwebhookconfigurations"].at("evenkeel-rollout").at("webhooks").as_array()[0];
  webhook.as_object()["namespaceSelector"] = base::JsonObject{};
  const int updates = hub.Count("update");
  ASSERT_TRUE(InstallWebhooks(hub, {"https://a:1", "PEM"}));
  EXPECT_EQ(hub.Count("update"), updates);
  const auto put_back = [&](std::initializer_list<std::string_view> path, Json value) {
    Json& stored = api->objects["validatingwebhookconfigurations"].at("evenkeel-rollout").at("webhooks").as_array()[0];
    base::Ensure(stored, path) = std::move(value);
    EXPECT_TRUE(InstallWebhooks(hub, {"https://a:1", "PEM"}));
    const Json object = api->objects["validatingwebhookconfigurations"].at("evenkeel-rollout");
    return client::SaysAll(object, AdmissionConfiguration({"https://a:1", "PEM"}));
  };
  EXPECT_TRUE(put_back({"failurePolicy"}, "Fail"));
  EXPECT_TRUE(put_back({"timeoutSeconds"}, 30));
  EXPECT_TRUE(put_back({"rules"}, base::JsonArray{}));
}

TEST(InstallationTest, KindsThatTheHubDoesNotServeAreNamed) {
  client::FakeClient hub;
  hub.FailNext("create", base::Error(base::Code::kNotFound, "the server could not find the requested resource"));
  EXPECT_EQ(*InstallWebhooks(hub, {"https://a:1", ""}), "validatingwebhookconfigurations.admissionregistration.k8s.io");
  hub.FailNext("get", base::Error(base::Code::kUnavailable, "connection refused"));
  EXPECT_EQ(InstallWebhooks(hub, {"https://a:1", ""}).error().code(), base::Code::kUnavailable);
}

}  // namespace
}  // namespace evenkeel::controllers::rollout::zookeeper::installation_test
