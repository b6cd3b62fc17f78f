#include "controllers/distribution/sharding/shard_mapping.h"

#include <algorithm>
#include <set>

#include "base/json.h"
#include "base/text.h"

namespace evenkeel::controllers::distribution {
namespace {

using base::Code;
using base::Fail;
using base::Json;

const Json* FindIgnoringCase(const base::JsonObject& object, std::string_view key) {
  for (const auto& [name, value] : object) {
    if (base::EqualIgnoringCase(name, key)) return &value;
  }
  return nullptr;
}

base::Result<ShardClaim> ParseClaim(const Json& item, size_t index) {
  const std::string where = "entry " + std::to_string(index);
  if (item.is_null()) return ShardClaim{};
  if (!item.is_object()) return Fail(Code::kBadRequest, where + " is not an object");
  ShardClaim claim;
  const base::JsonObject& object = item.get_object();
  if (const Json* number = FindIgnoringCase(object, "ShardNumber"); number != nullptr && !number->is_null()) {
    if (!number->is_int64()) return Fail(Code::kBadRequest, where + ": ShardNumber is not an integer");
    claim.shard = number->get_int64();
  }
  if (const Json* name = FindIgnoringCase(object, "ControllerName"); name != nullptr && !name->is_null()) {
    if (!name->is_string()) return Fail(Code::kBadRequest, where + ": ControllerName is not a string");
    claim.controller = name->get_string();
  }
  if (const Json* time = FindIgnoringCase(object, "HeartbeatTime"); time != nullptr && !time->is_null()) {
    if (!time->is_string()) return Fail(Code::kBadRequest, where + ": HeartbeatTime is not a string");
    auto parsed = base::ParseTime(std::string_view(time->get_string()));
    if (!parsed) return Fail(parsed.error().Wrap(where + ": HeartbeatTime"));
    claim.heartbeat = *parsed;
  }
  return claim;
}

/// JSON string as Go's encoder writes it, which also escapes <, > and &.
std::string QuoteAsGo(std::string_view text) {
  std::string quoted;
  for (char c : base::ToText(Json(boost::json::string(text)))) {
    switch (c) {
      case '<':
        quoted += "\\u003c";
        break;
      case '>':
        quoted += "\\u003e";
        break;
      case '&':
        quoted += "\\u0026";
        break;
      default:
        quoted += c;
    }
  }
  return quoted;
}

std::vector<ShardClaim> FreeClaims(int64_t replicas) {
  std::vector<ShardClaim> claims(static_cast<size_t>(std::max<int64_t>(replicas, 0)));
  for (size_t i = 0; i < claims.size(); ++i) claims[i].shard = static_cast<int64_t>(i);
  return claims;
}

base::Time WholeSeconds(base::Time time) { return std::chrono::floor<std::chrono::seconds>(time); }

void Take(ShardClaim& claim, const ClaimRequest& request) {
  claim.controller = request.controller;
  claim.heartbeat = WholeSeconds(request.now);
}

/// Nothing for a claim without a heartbeat.
std::optional<base::Time> LastAlive(const ShardClaim& claim, const ClaimRequest& request) {
  const auto known = request.last_alive.find(claim.shard);
  return claim.heartbeat && known != request.last_alive.end() ? known->second : claim.heartbeat;
}

std::string DescribeTakeover(const ShardClaim& claim, const ClaimRequest& request) {
  if (claim.controller.empty()) return "claimed a free shard";
  const auto alive = LastAlive(claim, request);
  if (!alive) return "took over from " + claim.controller + ", which never sent a heartbeat";
  const auto silent = std::chrono::duration_cast<std::chrono::seconds>(request.now - *alive);
  return "took over from " + claim.controller + ", silent for " + std::to_string(silent.count()) + "s";
}

}  // namespace

base::Result<std::vector<ShardClaim>> ParseShardMapping(std::string_view text) {
  auto json = base::ParseJson(text, kShardMappingKey);
  if (!json) return Fail(json.error());
  std::vector<ShardClaim> claims;
  if (json->is_null()) return claims;
  if (!json->is_array()) return Fail(Code::kBadRequest, std::string(kShardMappingKey) + ": not a list");
  size_t index = 0;
  for (const Json& item : json->get_array()) {
    auto claim = ParseClaim(item, index++);
    if (!claim) return Fail(claim.error().Wrap(kShardMappingKey));
    claims.push_back(*std::move(claim));
  }
  return claims;
}

std::string FormatShardMapping(const std::vector<ShardClaim>& claims) {
  std::string text = "[";
  for (const ShardClaim& claim : claims) {
    if (text.size() > 1) text += ',';
    text += "{\"ShardNumber\":" + std::to_string(claim.shard) + ",\"ControllerName\":" + QuoteAsGo(claim.controller) +
            ",\"HeartbeatTime\":" + (claim.heartbeat ? '"' + base::FormatTime(*claim.heartbeat) + '"' : std::string("null")) +
            '}';
  }
  return text + ']';
}

ClaimResult FirstClaim(const ClaimRequest& request) {
  ClaimResult result;
  result.shard = std::max<int64_t>(request.shard, 0);
  result.claims = FreeClaims(request.replicas);
  result.reason = request.shard < 0 ? "claimed a free shard" : "asked for by number";
  // Upstream indexes one past the end for shard == replicas; entry 0 is what it does for everything above.
  const size_t entry = result.shard >= request.replicas ? 0 : static_cast<size_t>(result.shard);
  if (!result.claims.empty()) Take(result.claims[entry], request);
  return result;
}

ClaimResult NextClaim(std::vector<ShardClaim> claims, const ClaimRequest& request) {
  ClaimResult result;
  const auto replicas = static_cast<size_t>(std::max<int64_t>(request.replicas, 0));
  for (size_t number = claims.size(); number < replicas; ++number)
    claims.push_back({static_cast<int64_t>(number), "", std::nullopt});
  if (claims.size() > replicas) {
    claims = FreeClaims(request.replicas);
    result.reset = true;
  }
  result.shard = request.shard;
  result.reason = "none is free";
  if (request.shard != -1 && request.shard < request.replicas) {
    result.reason = "asked for by number";
    auto asked = std::ranges::find(claims, request.shard, &ShardClaim::shard);
    if (asked != claims.end()) Take(*asked, request);
  } else if (auto own = std::ranges::find(claims, request.controller, &ShardClaim::controller); own != claims.end()) {
    own->heartbeat = WholeSeconds(request.now);
    result.shard = own->shard;
    result.reason = "kept";
  }
  if (result.shard == -1) {
    for (ShardClaim& claim : claims) {
      const auto alive = LastAlive(claim, request);
      const bool expired = !alive || request.now > *alive + request.timeout;
      if (!claim.controller.empty() && !expired) continue;
      result.reason = DescribeTakeover(claim, request);
      Take(claim, request);
      result.shard = claim.shard;
      break;
    }
  }
  result.claims = std::move(claims);
  return result;
}

std::optional<std::vector<ShardClaim>> Release(std::vector<ShardClaim> claims, std::string_view controller) {
  bool held = false;
  for (ShardClaim& claim : claims) {
    if (claim.controller != controller) continue;
    claim = {claim.shard, "", std::nullopt};
    held = true;
  }
  if (!held) return std::nullopt;
  return claims;
}

std::string CheckShardMapping(const std::vector<ShardClaim>& claims) {
  std::set<int64_t> seen;
  for (const ShardClaim& claim : claims) {
    if (claim.shard < 0 || claim.shard >= static_cast<int64_t>(claims.size())) {
      return "shard " + std::to_string(claim.shard) + " is not among 0.." + std::to_string(claims.size() - 1);
    }
    if (!seen.insert(claim.shard).second) return "shard " + std::to_string(claim.shard) + " is there twice";
  }
  return "";
}

std::vector<ShardClaim> RepairShardMapping(const std::vector<ShardClaim>& claims, int64_t replicas) {
  std::vector<ShardClaim> sound = FreeClaims(replicas);
  std::set<std::string> placed;
  for (const ShardClaim& claim : claims) {
    if (claim.shard < 0 || claim.shard >= replicas || claim.controller.empty()) continue;
    ShardClaim& entry = sound[static_cast<size_t>(claim.shard)];
    if (entry.controller.empty() && placed.insert(claim.controller).second) entry = claim;
  }
  return sound;
}

}  // namespace evenkeel::controllers::distribution
