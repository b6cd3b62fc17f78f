#include "dashboard/find.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/text.h"
#include "dashboard/actions/action_request.h"
#include "dashboard/documents.h"

namespace evenkeel::dashboard {
namespace {

using base::Code;

constexpr size_t kTextMax = 200;

/// `word` is in lower case.
bool Occurs(std::string_view text, std::string_view word) {
  return !std::ranges::search(text, word, [](char a, char b) { return base::LowerOf(a) == b; }).empty() || word.empty();
}

}  // namespace

base::Result<FindRequest> FindRequest::Parse(const embedded::apiserver::Query& query) {
  FindRequest request;
  const auto bad = [](const std::string& what) { return base::Fail(Code::kBadRequest, what); };
  const std::string text = base::Lower(query.Get("text"));
  if (text.size() > kTextMax) return bad(fmt::format("text: longer than {} bytes", kTextMax));
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) request.words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  request.cluster = query.Get("cluster");
  request.node = query.Get("node");
  request.state = query.Get("state");
  if (!request.cluster.empty() && !IsPlainName(request.cluster)) return bad("cluster: not the name of a member");
  if (!request.node.empty() && !IsPlainName(request.node)) return bad("node: not the name of one");
  if (!request.state.empty() && !IsPlainName(request.state)) return bad("state: not the name of one");
  const std::string kind = query.Get("kind");
  if (!kind.empty()) {
    request.nodes = kind == "Node";
    request.pods = kind == "Pod";
    request.groups = kind == "NodeGroup";
    if (!request.nodes && !request.pods && !request.groups) return bad("kind: there are Node, Pod and NodeGroup");
  }
  EVENKEEL_ASSIGN(const std::optional<int64_t> limit, query.Integer("limit"));
  if (limit && (*limit < 1 || *limit > static_cast<int64_t>(kFoundMax))) {
    return bad(fmt::format("limit: not a number from 1 to {}", kFoundMax));
  }
  if (limit) request.limit = static_cast<size_t>(*limit);
  if (request.words.empty() && request.cluster.empty()) return bad("text: what is looked for is missing");
  return request;
}

bool FindRequest::Matches(std::string_view text) const {
  return std::ranges::all_of(words, [&](const std::string& word) { return Occurs(text, word); });
}

void Found::Add(size_t limit, std::string_view kind, std::string_view name, Json entry) {
  ++total;
  if (rows.size() < limit) rows.push_back({std::string(kind), "", std::string(name), std::move(entry)});
}

void Found::Merge(Found other, const std::string& cluster, size_t limit) {
  total += other.total;
  for (Row& row : other.rows) {
    if (rows.size() >= limit) return;
    row.cluster = cluster;
    rows.push_back(std::move(row));
  }
}

Json Found::ToJson() const {
  JsonArray found;
  for (const Row& row : rows) {
    JsonObject entry = row.entry.is_object() ? row.entry.get_object() : JsonObject();
    entry["kind"] = row.kind;
    entry["cluster"] = row.cluster;
    entry["name"] = row.name;
    found.push_back(std::move(entry));
  }
  return JsonObject{{"found", std::move(found)}, {"total", total}, {"missing", JsonArray(missing.begin(), missing.end())}};
}

std::string StateOf(const PodRow& pod) {
  if (pod.leaving) return "Leaving";
  return pod.phase.empty() ? "Pending" : pod.phase;
}

Json FoundPod(const PodRow& pod) {
  return JsonObject{{"node", OrNull(pod.node)},      {"state", StateOf(pod)},    {"ready", pod.ready},
                    {"containers", pod.containers},  {"restarts", pod.restarts}, {"since", TimeOrNull(pod.created)},
                    {"message", OrNull(pod.message)}};
}

Json FoundNode(const NodeRow& node) {
  return JsonObject{{"state", node.state}, {"group", OrNull(node.group)}, {"since", TimeOrNull(node.since)}};
}

}  // namespace evenkeel::dashboard
