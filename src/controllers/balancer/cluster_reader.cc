#include "controllers/balancer/cluster_reader.h"

#include "base/yaml.h"
#include "controllers/balancer/messages.h"
#include "controllers/balancer/state_reader.h"

namespace evenkeel::controllers::balancer {
namespace {

struct Parsed {
  base::Json root;
  TextSyntax syntax = TextSyntax::kYaml;
};

/// JSON into one arena: large states are JSON, and their values all go together.
base::Result<Parsed> Parse(std::string_view text, const std::string& file) {
  const size_t first = text.find_first_not_of(kSpaces);
  if (first != std::string_view::npos && text[first] == '{') {
    auto json = base::ParseJson(text, file, boost::json::make_shared_resource<boost::json::monotonic_resource>());
    if (json) return Parsed{*std::move(json), TextSyntax::kJson};
  }
  // What begins like JSON and is not may still be YAML; if not, this answers the nearer of the two errors.
  EVENKEEL_ASSIGN(base::Json yaml, base::ParseYamlDocument(text, file));
  return Parsed{std::move(yaml), TextSyntax::kYaml};
}

}  // namespace

base::Result<Cluster> StateReader::Read() {
  constexpr std::string_view kKnown[] = {"nodes",      "serviceTypes", "applications", "services",
                                         "partitions", "runtime",      "history"};
  const Where where;
  EVENKEEL_ASSIGN(const Fields root, file_.Object(file_.root(), where));
  file_.CheckKeys(root, "state", kKnown);
  using Reads = base::Status (StateReader::*)(const base::Json&, const Where&);
  const auto each = [&](std::string_view key, Reads read) {
    return file_.ForEachItem(root, key, [&](const base::Json& item, const Where& at) { return (this->*read)(item, at); });
  };
  EVENKEEL_TRY(each("nodes", &StateReader::ReadNode));
  EVENKEEL_TRY(each("serviceTypes", &StateReader::ReadServiceType));
  EVENKEEL_TRY(each("applications", &StateReader::ReadApplication));
  EVENKEEL_TRY(each("services", &StateReader::ReadService));
  ServiceId child = 0;
  EVENKEEL_TRY(file_.ForEachItem(root, "services",
                                 [&](const base::Json& item, const Where& at) { return ReadAffinity(item, at, child++); }));
  EVENKEEL_TRY(CheckAffinity());
  EVENKEEL_TRY(each("partitions", &StateReader::ReadPartition));
  CheckParents();
  EVENKEEL_TRY(ReadRuntime(root));
  EVENKEEL_TRY(ReadHistory(root));
  return std::move(cluster_);
}

base::Result<ClusterFile> ReadCluster(std::string_view text, const std::string& file, const ReadClusterOptions& options) {
  EVENKEEL_ASSIGN(const Parsed parsed, Parse(text, file));
  StateFile state(text, parsed.syntax, file, parsed.root);
  ClusterFile result;
  EVENKEEL_ASSIGN(result.cluster, StateReader(state, options).Read());
  result.warnings = state.TakeWarnings();
  return result;
}

}  // namespace evenkeel::controllers::balancer
