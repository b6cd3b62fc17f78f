// Pictures of ensembles for tests, from a few words.
#pragma once

#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>

#include <string>
#include <string_view>
#include <vector>

#include "controllers/rollout/zookeeper/member/member_objects.h"
#include "controllers/rollout/zookeeper/member/member_plan.h"

namespace evenkeel::controllers::rollout::zookeeper::member::testing {

inline std::string LineOf(int64_t id, const std::string& role = "participant") {
  return fmt::format("server.{}=h{}:2888:3888:{};2181", id, id, role);
}

/// As JSON: "\"server.1=...\", ...".
inline std::string Lines(const std::vector<int64_t>& ids) {
  std::string text;
  for (const int64_t id : ids) text += (text.empty() ? "\"" : ", \"") + LineOf(id) + "\"";
  return text;
}

/// A ZooKeeper object of `replicas` servers after `offset`, in a list of `ids`.
inline base::Json ObjectOf(int64_t replicas, const std::vector<int64_t>& ids, int64_t offset = 0,
                           const std::string& more = "{}") {
  base::JsonArray servers;
  for (const int64_t id : ids) servers.push_back(base::Json(LineOf(id)));
  base::Json object = base::JsonObject{
      {"apiVersion", "evenkeel.dev/v1alpha1"},
      {"kind", "ZooKeeper"},
      {"metadata", base::JsonObject{{"name", "zk"}, {"namespace", "data"}, {"uid", "u1"}, {"generation", 7}}},
      {"spec",
       base::JsonObject{{"replicas", replicas}, {"myidOffset", offset}, {"servers", servers}, {"rolloutRevision", "r"}}}};
  base::ApplyMergePatch(object, *base::ParseJson(more, "test"));
  return object;
}

inline MemberSpec SpecOf(int64_t replicas, const std::vector<int64_t>& ids, int64_t offset = 0,
                         const std::string& more = "{}") {
  auto spec = DecodeMemberSpec(ObjectOf(replicas, ids, offset, more));
  EXPECT_TRUE(spec) << (spec ? "" : spec.error().message());
  return spec ? *spec : MemberSpec{};
}

/// Of one server here: 'L' leads, 'F' follows, 'O' observes, 'n' answers and does not serve, '-' does not answer, 't' is
/// terminating (and its process still says that it follows). Of one that Kubernetes counts as ready: 's' does not answer, 'r'
/// answers and does not serve. Of one that served a moment ago, but is not ready: 'h' does not answer, 'l' answers and does not
/// serve.
struct Server {
  char mode = 'F';
  bool updated = false;
};

/// `here`: the servers of this cluster from ordinal 0 on. `others`: those that can be reached elsewhere. `members`: what the
/// leader says was agreed on. `synced`: the voters that it says follow, without itself.
inline Picture PictureOf(MemberSpec spec, const std::vector<Server>& here, const std::map<int64_t, char>& others,
                         const std::vector<int64_t>& members, int64_t synced, const std::vector<int64_t>& observers = {}) {
  Picture picture;
  picture.spec = std::move(spec);
  picture.password = "p";
  picture.super_digest = SuperDigest("p");
  const std::string wanted = PodRevision(picture.spec, picture.super_digest);
  picture.set_replicas = static_cast<int64_t>(here.size());
  picture.set_revision = wanted;
  const auto answer = [&](char mode) {
    Answer made;
    made.mode = mode == 'L'                                 ? Mode::kLeader
                : mode == 'O'                               ? Mode::kObserver
                : mode == 'n' || mode == 'l' || mode == 'r' ? Mode::kNotServing
                                                            : Mode::kFollower;
    if (made.mode != Mode::kNotServing) made.zxid = "0x100000001";
    if (mode != 'L') return made;
    made.synced_voters = synced;
    made.config_version = "100000000";
    for (const int64_t id : members) {
      const bool observer = std::ranges::find(observers, id) != observers.end();
      made.servers.push_back(*ParseServerLine(LineOf(id, observer ? "observer" : "participant")));
    }
    return made;
  };
  for (size_t i = 0; i < here.size(); ++i) {
    const auto ordinal = static_cast<int64_t>(i);
    const std::string name = fmt::format("zk-{}", ordinal);
    picture.pods.push_back({.name = name,
                            .uid = name + "-uid",
                            .version = "1",
                            .ordinal = ordinal,
                            .id = picture.spec.IdOf(ordinal),
                            .ip = fmt::format("10.0.0.{}", ordinal),
                            .revision = here[i].updated ? wanted : "old",
                            .terminating = here[i].mode == 't',
                            .running = here[i].mode != '-',
                            .ready = std::string_view("LFOsr").contains(here[i].mode)});
    if (here[i].mode == 'h' || here[i].mode == 'l') picture.lately.insert(name + "-uid");
    if (!std::string_view("-sh").contains(here[i].mode)) picture.own[name + "-uid"] = answer(here[i].mode);
  }
  for (const auto& [id, mode] : others) {
    if (mode != '-') picture.others[id] = answer(mode);
  }
  return picture;
}

}  // namespace evenkeel::controllers::rollout::zookeeper::member::testing
