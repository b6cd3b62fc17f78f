#include "balancing/input/cluster_reader.h"

#include "balancing/input/state_reader.h"
#include "balancing/model/messages.h"
#include "base/input/yaml.h"
#include "base/text.h"

namespace evenkeel::balancing {
namespace {

struct Parsed {
  base::Json root;
  TextSyntax syntax = TextSyntax::kYaml;
};

/// JSON into one arena: large states are JSON, and their values all go together.
base::Result<Parsed> Parse(std::string_view text, const std::string& file) {
  const size_t first = text.find_first_not_of(base::kBlanks);
  if (first != std::string_view::npos && text[first] == '{') {
    auto json = base::ParseJson(text, file, boost::json::make_shared_resource<boost::json::monotonic_resource>());
    if (json) return Parsed{*std::move(json), TextSyntax::kJson};
  }
  // What begins like JSON and is not may still be YAML; if not, this answers the nearer of the two errors.
  EVENKEEL_ASSIGN(base::Json yaml, base::ParseYamlDocument(text, file));
  return Parsed{std::move(yaml), TextSyntax::kYaml};
}

}  // namespace

template <typename Visit>
base::Status StateReader::ForEachItem(std::span<const Fields> roots, std::string_view list, Visit visit) {
  for (size_t i = 0; i < roots.size(); ++i) {
    file_ = &files_[i];
    EVENKEEL_TRY(file_->ForEachItem(roots[i], list, visit));
  }
  return {};
}

base::Status StateReader::ReadLists(std::span<const Fields> roots) {
  using Reads = base::Status (StateReader::*)(const base::Json&, const Where&);
  const auto each = [&](std::string_view list, Reads read) {
    return ForEachItem(roots, list, [&](const base::Json& item, const Where& at) { return (this->*read)(item, at); });
  };
  EVENKEEL_TRY(each("nodes", &StateReader::ReadNode));
  if (cluster_.nodes.empty()) AddListedNodes();
  EVENKEEL_TRY(each("serviceTypes", &StateReader::ReadServiceType));
  EVENKEEL_TRY(each("applications", &StateReader::ReadApplication));
  EVENKEEL_TRY(each("services", &StateReader::ReadService));
  ServiceId child = 0;
  EVENKEEL_TRY(
      ForEachItem(roots, "services", [&](const base::Json& item, const Where& at) { return ReadAffinity(item, at, child++); }));
  child = 0;
  EVENKEEL_TRY(ForEachItem(roots, "services", [&](const base::Json&, const Where& at) { return CheckAffinity(at, child++); }));
  EVENKEEL_TRY(each("partitions", &StateReader::ReadPartition));
  child = 0;
  return ForEachItem(roots, "services", [&](const base::Json&, const Where& at) -> base::Status {
    CheckParent(at, child++);
    return {};
  });
}

base::Result<Cluster> StateReader::Read() {
  constexpr std::string_view kKnown[] = {"nodes",      "serviceTypes", "applications", "services",
                                         "partitions", "runtime",      "history"};
  const Where where;
  std::vector<Fields> roots;
  for (StateFile& file : files_) {
    EVENKEEL_ASSIGN(const Fields root, file.Object(file.root(), where));
    file.CheckKeys(root, "state", kKnown);
    roots.push_back(root);
  }
  EVENKEEL_TRY(ReadLists(roots));
  for (size_t i = 0; i < roots.size(); ++i) {
    file_ = &files_[i];
    EVENKEEL_TRY(ReadRuntime(roots[i]));
    EVENKEEL_TRY(ReadHistory(roots[i]));
  }
  return std::move(cluster_);
}

base::Result<ClusterFile> ReadCluster(std::span<const StateText> texts, const ReadClusterOptions& options) {
  std::vector<Parsed> parsed;
  std::vector<StateFile> files;
  parsed.reserve(texts.size());
  for (const StateText& text : texts) {
    EVENKEEL_ASSIGN(Parsed root, Parse(text.text, text.file));
    parsed.push_back(std::move(root));
    files.emplace_back(text.text, parsed.back().syntax, text.file, parsed.back().root);
  }
  ClusterFile result;
  EVENKEEL_ASSIGN(result.cluster, StateReader(files, options).Read());
  for (StateFile& file : files) {
    for (std::string& warning : file.TakeWarnings()) result.warnings.push_back(std::move(warning));
  }
  return result;
}

base::Result<ClusterFile> ReadCluster(std::string_view text, const std::string& file, const ReadClusterOptions& options) {
  const StateText only{text, file};
  return ReadCluster({&only, 1}, options);
}

}  // namespace evenkeel::balancing
