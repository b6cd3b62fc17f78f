#include "controllers/rollout/zookeeper/member/answer.h"

#include <optional>

#include "base/parse_number.h"

namespace evenkeel::controllers::rollout::zookeeper::member {
namespace {

using base::Code;
using base::Fail;

constexpr std::string_view kNotServingText = "not currently serving requests";
constexpr std::string_view kNotAllowedText = "not executed because it is not in the whitelist";

std::string_view TakeLine(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

/// What follows "KEY" on the line that begins with it; nullopt when there is none.
std::optional<std::string_view> Field(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view line = TakeLine(text);
    if (line.starts_with(key)) return line.substr(key.size());
  }
  return std::nullopt;
}

std::optional<Mode> ReadMode(std::string_view name) {
  if (name == "leader") return Mode::kLeader;
  if (name == "follower") return Mode::kFollower;
  if (name == "observer" || name == "read-only") return name == "observer" ? Mode::kObserver : Mode::kNotServing;
  if (name == "standalone") return Mode::kStandalone;
  return std::nullopt;
}

int64_t ReadCount(std::string_view mntr, std::string_view key, int64_t missing) {
  const auto text = Field(mntr, key);
  const auto count = base::ParseNumber<int64_t>(text.value_or(""));
  return count && *count >= 0 ? *count : missing;
}

void ReadMembership(std::string_view conf, Answer& answer) {
  std::vector<std::string> lines;
  for (std::string_view rest = conf; !rest.empty();) {
    const std::string_view line = TakeLine(rest);
    if (line.starts_with("server.")) lines.emplace_back(line);
  }
  auto servers = ParseServerLines(lines);
  const auto version = Field(conf, "version=");
  if (!servers || !version) return;
  answer.servers = *std::move(servers);
  answer.config_version = *version;
}

}  // namespace

base::Result<Answer> ReadAnswer(const Words& words) {
  Answer answer;
  if (words.srvr.contains(kNotServingText)) return answer;
  if (words.srvr.contains(kNotAllowedText)) return Fail(Code::kForbidden, "the server does not answer \"srvr\"");
  const auto name = Field(words.srvr, "Mode: ");
  if (!name) return Fail(Code::kUnavailable, "what answers to \"srvr\" is not ZooKeeper");
  const auto mode = ReadMode(*name);
  if (!mode) return Fail(Code::kUnavailable, "the server is in an unknown mode: " + std::string(name->substr(0, 40)));
  answer.mode = *mode;
  if (answer.mode == Mode::kNotServing) return answer;
  answer.zxid = Field(words.srvr, "Zxid: ").value_or("");
  ReadMembership(words.conf, answer);
  // Between two questions it may have become another.
  if (answer.mode == Mode::kLeader && Field(words.mntr, "zk_server_state\t") == "leader") {
    const int64_t followers = ReadCount(words.mntr, "zk_synced_followers\t", -1);
    const int64_t without_vote = ReadCount(words.mntr, "zk_synced_non_voting_followers\t", 0);
    if (followers >= without_vote) answer.synced_voters = followers - without_vote;
  }
  return answer;
}

}  // namespace evenkeel::controllers::rollout::zookeeper::member
