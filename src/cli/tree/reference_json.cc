#include <span>

#include "balancing/plan/balance_json.h"
#include "cli/commands/clusters_json.h"
#include "cli/commands/rollouts_json.h"
#include "cli/commands/solve_json.h"
#include "cli/commands/store_json.h"
#include "cli/terminal/shards_json.h"
#include "cli/tree/reference.h"
#include "controllers/autoscaler/loop/plan_scale_json.h"
#include "controllers/distribution/sharding/shard_plan_json.h"
#include "controllers/rollout/zookeeper/plan/plan_json.h"
#include "sim/report/report_json.h"

namespace evenkeel::cli {
namespace {

std::string FieldTable(std::span<const base::JsonField> fields) {
  std::string text = MarkdownHeader({"key", "type", "what"});
  for (const base::JsonField& field : fields) {
    std::string what = field.what;
    if (!field.always) what += std::string(what.empty() ? "" : " ") + "(not always there)";
    text += MarkdownRow({"`" + std::string(field.path) + "`", field.type, what});
  }
  return text;
}

}  // namespace

std::string JsonReference() {
  std::string text = ReferenceTitle("JSON", "json",
                                    "What commands answer with `-o json` (and, in YAML, with `-o yaml`). Keys stay; others may "
                                    "be added. `[]` are the items of an "
                                    "array, `*` is a key that is the name of something.");
  auto section = [&text](const std::string& title, std::span<const base::JsonField> fields) {
    text += "\n## " + title + "\n\n" + FieldTable(fields);
  };
  section("plan shards", controllers::distribution::kShardPlanJson);
  section("plan scale", controllers::autoscaler::kPlanScaleJson);
  section("plan balance", balancing::kPlanBalanceJson);
  section("plan rollout", controllers::rollout::zookeeper::kPlanRolloutJson);
  section("get shards", kShardsJson);
  section("get nodegroups", kNodeGroupsJson);
  section("get loads", balancing::kLoadsJson);
  section("get rollouts", kRolloutsJson);
  section("clusters list", kClustersJson);
  section("explain cluster", kExplainClusterJson);
  section("explain pod", controllers::autoscaler::kExplainPodJson);
  section("explain node", controllers::autoscaler::kExplainNodeJson);
  section("explain service", balancing::kExplainServiceJson);
  section("apiserver verify, repair, backup, restore", kStoreJson);
  section("simulate", sim::kSimulateJson);
  section("simulate, of a trace", sim::kReplayJson);
  section("solve roadef", kSolveRoadefJson);
  section("version", kVersionJson);
  return text;
}

}  // namespace evenkeel::cli
